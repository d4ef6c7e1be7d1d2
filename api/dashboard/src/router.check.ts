import { getRouteApi } from "@tanstack/react-router";

import type {} from "./router";

// Nothing runs this: it does not compile when routes have lost their types, see routeTree.

// @ts-expect-error there is no such route
getRouteApi("/inside/nowhere");
