import { paginate } from "@comanda/client";
import type { QueryClient } from "@tanstack/react-query";

import { type Order, isNewer, isOpen, openStatuses } from "@/domain/orders";

import { api, collect } from "./client";

/** The board shows at most this many open orders. */
export const maxOpen = 5_000;

/** Returns the orders with the changed orders replaced, added or, if they are no longer open, removed. */
export function withChanges(orders: Order[], changed: Order[]): Order[] {
  const byId = new Map(orders.map((order) => [order.id, order]));
  for (const order of changed) {
    const known = byId.get(order.id);
    if (known && isNewer(known, order)) continue;
    if (isOpen(order)) byId.set(order.id, order);
    else byId.delete(order.id);
  }
  return [...byId.values()];
}

/** Keeps the objects of orders that have not changed, so that their cards are not rendered again. */
export function keepUnchanged(before: unknown, after: unknown): unknown {
  if (!Array.isArray(before) || !Array.isArray(after)) return after;
  const old = new Map((before as Order[]).map((order) => [order.id, order]));
  return (after as Order[]).map((order) => {
    const same = old.get(order.id);
    return same && !isNewer(order, same) ? same : order;
  });
}

/** The changes that have arrived since each read of the open orders began. */
const reads = new WeakMap<QueryClient, Set<Order[]>>();

/** Adds changes to the reads of the open orders that have not ended. Their pages may be older than the changes. */
export function addToReads(client: QueryClient, changed: Order[]) {
  for (const arrived of reads.get(client) ?? []) arrived.push(...changed);
}

/** Reads all open orders of the store. */
export async function readOpen(client: QueryClient): Promise<Order[]> {
  const arrived: Order[] = [];
  const all = reads.get(client) ?? new Set();
  reads.set(client, all.add(arrived));
  try {
    const pages = paginate(api, "/orders", { params: { query: { status: [...openStatuses] } } });
    return withChanges(await collect(pages, maxOpen), arrived);
  } finally {
    all.delete(arrived);
  }
}
