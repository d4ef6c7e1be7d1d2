import { expect, test } from "vitest";

import { type Scope, isIncluded, scopes } from "./scopes";

test("write:x includes only read:x, and orders:price both of orders", () => {
  const included = (chosen: Scope[]) => (Object.keys(scopes) as Scope[]).filter((scope) => isIncluded(scope, chosen));
  expect(included(["write:orders", "write:reservations"])).toEqual(["read:orders", "read:reservations"]);
  expect(included(["read:orders", "webhooks:manage"])).toEqual([]);
  expect(included(["orders:price"])).toEqual(["read:orders", "write:orders"]);
});
