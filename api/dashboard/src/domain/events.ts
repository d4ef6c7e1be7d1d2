import type { components } from "@comanda/client";

import type { Order } from "./orders";

/** An event of the store, with its body. */
export type StoreEvent = components["schemas"]["Event"];

/** An event and the result of a filter for it. An event for which the filter fails matches. */
export type FilteredEvent = { event: StoreEvent; matches: boolean; error?: string };

/** Returns the order in the body of an event about an order; undefined for all other events and erased bodies. */
export function orderOf({ type, body }: StoreEvent) {
  if (!type.startsWith("order.") || body === null) return undefined;
  const { data } = body as Record<string, unknown>;
  return data as Pick<Order, "fulfillmentType" | "source" | "channel" | "totalMinor" | "currency">;
}

/** Returns the kind and the id of a resource such as order/ord_1. */
export function partsOf(resource: string) {
  const slash = resource.indexOf("/");
  return { kind: resource.slice(0, slash), id: resource.slice(slash + 1) };
}
