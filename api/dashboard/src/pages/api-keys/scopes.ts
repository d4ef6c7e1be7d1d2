import type { components } from "@/api/schema";

export type APIKey = components["schemas"]["APIKey"];
export type Scope = APIKey["scopes"][number];

/** What a key with a scope may do, as the API's table has it. */
export const scopes: Record<Scope, string> = {
  "read:orders": "List and view orders",
  "write:orders": "Place orders, change their status, cancel, record payments and refunds; includes reading",
  "read:products": "List and view products",
  "write:products": "Create, change and delete products; includes reading",
  "read:customers": "List and view customers",
  "read:analytics": "View revenue and order analytics",
  "read:reservations": "List and view reservations",
  "write:reservations": "Take and change reservations; includes reading",
  "webhooks:manage": "Create, change, test, replay and delete webhooks",
};

/** Whether a scope is in another one of those that are chosen: write:x includes read:x. */
export const isIncluded = (scope: Scope, chosen: Scope[]) => scope.startsWith("read:") && (chosen as string[]).includes(scope.replace("read:", "write:"));
