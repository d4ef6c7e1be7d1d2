import { getRouteApi } from "@tanstack/react-router";

import type {} from "./router";

// A compile-time test, never run: it fails to compile if the route types degrade to any string (see routeTree).

// @ts-expect-error this route does not exist
getRouteApi("/inside/nowhere");
