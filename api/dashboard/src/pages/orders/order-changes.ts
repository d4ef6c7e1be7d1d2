import type { QueryClient } from "@tanstack/react-query";

import { api, data } from "@/api/client";
import { addToReads, withChanges } from "@/api/open-orders";
import { invalidate, queries, singleOrders } from "@/api/queries";
import { type Order, isNewer } from "@/domain/orders";

/** The event data of the stream of orders. */
export type OrderEvent = {
  id: string;
  version: number;
  orderId?: string;
  /** An item was ticked or is no longer, or the slip was printed. The version is the same. */
  items?: boolean;
  /** A delivery of one of the order's events has changed. */
  deliveries?: boolean;
  /** The order was not accepted in time for a reminder. */
  reminder?: boolean;
};

/** More changed orders than this are read in pages instead of one by one. */
const maxSingleReads = 20;

/** The margin in milliseconds for changes that were committed in another order than their times. */
const overlap = 60_000;

/** Applies changed orders to the cached queries. */
export function applyChanges(client: QueryClient, changed: Order[]) {
  addToReads(client, changed);
  client.setQueryData(queries.openOrders.queryKey, (orders) => orders && withChanges(orders, changed));
  for (const order of changed) {
    client.setQueryData(queries.orders.one(order.id).queryKey, (known) =>
      known && isNewer(order, known) ? order : known,
    );
  }
}

/** Returns the ids of the orders of events of which a cached query has an older version or none. */
function staleIds(client: QueryClient, events: OrderEvent[]): string[] {
  const orders = client.getQueryData(queries.openOrders.queryKey) ?? [];
  const known = new Map(orders.map((order) => [order.id, order.version]));
  return events
    .filter(({ id, version, items }) => {
      if (items) return true;
      const shown = client.getQueryData(queries.orders.one(id).queryKey)?.version ?? Infinity;
      return Math.min(known.get(id) ?? 0, shown) < version;
    })
    .map(({ id }) => id);
}

/** Reads the orders that events report, unless their versions are known. Returns the ids of the others. */
export async function readChanged(client: QueryClient, events: OrderEvent[]): Promise<string[]> {
  const ids = staleIds(client, events);
  if (ids.length > maxSingleReads) {
    await Promise.all([invalidate(client, "openOrders"), client.invalidateQueries(singleOrders(new Set(ids)))]);
    return ids;
  }
  const read = (id: string) => data(api.GET("/orders/{id}", { params: { path: { id } } }));
  const results = await Promise.allSettled(ids.map(read));
  applyChanges(
    client,
    results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : [])),
  );
  if (results.some(({ status }) => status === "rejected")) await invalidate(client, "openOrders");
  return ids;
}

/** Reads the orders that have changed since the newest known change. */
export async function catchUp(client: QueryClient) {
  const orders = await client.ensureQueryData(queries.openOrders);
  const newest = orders.reduce((latest, { updatedAt }) => (updatedAt > latest ? updatedAt : latest), "");
  const page =
    newest &&
    (await api.GET("/orders", {
      params: { query: { updatedSince: new Date(Date.parse(newest) - overlap).toISOString(), limit: 100 } },
    }));
  if (!page || page.meta.nextCursor) return invalidate(client, "openOrders");
  applyChanges(client, page.data);
}
