import { configure } from "@testing-library/react";

// A busy machine renders late. The limits end tests that hang.
configure({ asyncUtilTimeout: 20_000 });
