import type { APIKey } from "./types";

export type Scope = APIKey["scopes"][number];

/** The permissions of each scope, as documented by the API. */
export const scopes: Record<Scope, string> = {
  "read:orders": "List and view orders",
  "write:orders": "Place, change and cancel orders, record payments and refunds; includes read:orders",
  "orders:price": "Place and change orders with the prices of a sales channel; includes write:orders",
  "read:products": "List and view products",
  "write:products": "Create, change and delete products; includes read:products",
  "read:customers": "List and view customers",
  "read:analytics": "View sales and order analytics",
  "read:reservations": "List and view reservations",
  "write:reservations": "Create and change reservations; includes read:reservations",
  "webhooks:manage": "Create, change, test, replay and delete webhooks",
};

/** Reports whether another chosen scope includes this one: write:x includes read:x, orders:price write:orders. */
export const isIncluded = (scope: Scope, chosen: Scope[]) =>
  (scope.startsWith("read:") && (chosen as string[]).includes(scope.replace("read:", "write:"))) ||
  ((scope === "read:orders" || scope === "write:orders") && chosen.includes("orders:price"));
