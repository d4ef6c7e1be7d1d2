import { type QueryClient, queryOptions } from "@tanstack/react-query";

import { api, data } from "@/api/client";
import { type Order, isOpen, openStatuses } from "@/domain/orders";
import { everyPage } from "@/ui/list";

/** The event data of the stream of orders. */
export type OrderEvent = {
  id: string;
  version: number;
  orderId?: string;
  /** A delivery of one of the order's events has changed. */
  deliveries?: boolean;
  /** The order was not accepted in time for a reminder. */
  reminder?: boolean;
};

/** Returns the orders with the changed orders replaced, added or, if they are no longer open, removed. */
export function withChanges(orders: Order[], changed: Order[]): Order[] {
  const byId = new Map(orders.map((order) => [order.id, order]));
  for (const order of changed) {
    if ((byId.get(order.id)?.version ?? 0) > order.version) continue;
    if (isOpen(order)) byId.set(order.id, order);
    else byId.delete(order.id);
  }
  return [...byId.values()];
}

/** Keeps the objects of orders that have not changed, so that their cards are not rendered again. */
function keepUnchanged(before: unknown, after: unknown): unknown {
  if (!Array.isArray(before) || !Array.isArray(after)) return after;
  const old = new Map((before as Order[]).map((order) => [order.id, order]));
  return (after as Order[]).map((order) => {
    const same = old.get(order.id);
    return same && same.version >= order.version ? same : order;
  });
}

/** The board shows at most this many open orders. */
export const maxOpen = 5_000;

/** The changes that have arrived since each load of the open orders began. */
const loads = new WeakMap<QueryClient, Set<Order[]>>();

/** Reads all open orders. The pages may be older than changes that arrive meanwhile, so the changes are added. */
async function loadOpen(queries: QueryClient): Promise<Order[]> {
  const arrived: Order[] = [];
  const all = loads.get(queries) ?? new Set();
  loads.set(queries, all.add(arrived));
  try {
    const orders = await everyPage<Order>(
      (cursor) => api.GET("/orders", { params: { query: { status: [...openStatuses], cursor, limit: 100 } } }),
      maxOpen,
    );
    return withChanges(orders, arrived);
  } finally {
    all.delete(arrived);
  }
}

/**
 * All open orders of the store. useLiveOrders keeps them up to date. The key differs from that of the other queries of
 * orders, so that a change of one order does not load all of them again.
 */
export const openOrders = queryOptions({
  queryKey: ["open-orders"],
  queryFn: ({ client }) => loadOpen(client),
  structuralSharing: keepUnchanged,
  staleTime: Infinity,
});

/** The query of one order. */
export const orderKey = (id: string) => ["orders", "one", id] as const;

/** More changed orders than this are read in pages instead of one by one. */
const maxSingleReads = 20;

/** The margin in milliseconds for changes that were committed in another order than their times. */
const overlap = 60_000;

/** Applies changed orders to the cached queries. */
export function applyChanges(queries: QueryClient, changed: Order[]) {
  for (const arrived of loads.get(queries) ?? []) arrived.push(...changed);
  queries.setQueryData(openOrders.queryKey, (orders) => orders && withChanges(orders, changed));
  for (const order of changed) {
    queries.setQueryData(orderKey(order.id), (known: Order | undefined) =>
      known && known.version < order.version ? order : known,
    );
  }
}

/** Returns the ids of the orders of events of which a cached query has an older version or none. */
function staleIds(queries: QueryClient, events: OrderEvent[]): string[] {
  const orders = queries.getQueryData(openOrders.queryKey) ?? [];
  const known = new Map(orders.map((order) => [order.id, order.version]));
  return events
    .filter(({ id, version }) => {
      const shown = queries.getQueryData<Order>(orderKey(id))?.version ?? Infinity;
      return Math.min(known.get(id) ?? 0, shown) < version;
    })
    .map(({ id }) => id);
}

/** Reads the orders that events report, unless their versions are known. Returns the ids of the others. */
export async function readChanged(queries: QueryClient, events: OrderEvent[]): Promise<string[]> {
  const ids = staleIds(queries, events);
  if (ids.length > maxSingleReads) {
    const stale = new Set(ids);
    await Promise.all([
      queries.invalidateQueries({ queryKey: openOrders.queryKey }),
      queries.invalidateQueries({
        predicate: ({ queryKey: [first, kind, id] }) => first === "orders" && kind === "one" && stale.has(String(id)),
      }),
    ]);
    return ids;
  }
  const read = (id: string) => data(api.GET("/orders/{id}", { params: { path: { id } } }));
  const results = await Promise.allSettled(ids.map(read));
  applyChanges(
    queries,
    results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : [])),
  );
  if (results.some(({ status }) => status === "rejected"))
    await queries.invalidateQueries({ queryKey: openOrders.queryKey });
  return ids;
}

/** Reads the orders that have changed since the newest known change. */
export async function catchUp(queries: QueryClient) {
  const orders = await queries.ensureQueryData(openOrders);
  const newest = orders.reduce((latest, { updatedAt }) => (updatedAt > latest ? updatedAt : latest), "");
  const page =
    newest &&
    (await api.GET("/orders", {
      params: { query: { updatedSince: new Date(Date.parse(newest) - overlap).toISOString(), limit: 100 } },
    }));
  if (!page || page.meta.nextCursor) return queries.invalidateQueries({ queryKey: openOrders.queryKey });
  applyChanges(queries, page.data);
}
