import { QueryClient } from "@tanstack/react-query";
import { expect, test, vi } from "vitest";

import type { Order } from "@/domain/orders";

import { openOrders, orderKey, readChanged } from "./open-orders";

const order = (id: string, version = 1, status = "RECEIVED") => ({ id, version, status }) as Order;

type Response = { data: unknown; meta: { nextCursor: null } };

const server = vi.hoisted(() => ({
  page: undefined as unknown as () => Promise<unknown>,
  orders: {} as Record<string, unknown>,
  reads: [] as string[],
}));

vi.mock("@/api/client", async (original) => ({
  ...(await original()),
  api: {
    GET: (path: string, { params }: { params: { path: { id: string } } }) => {
      if (path === "/orders") return server.page();
      server.reads.push(params.path.id);
      return Promise.resolve({ data: server.orders[params.path.id] });
    },
  },
}));

/** Returns the versions of the cached open orders. */
const versions = (queries: QueryClient) =>
  Object.fromEntries((queries.getQueryData(openOrders.queryKey) ?? []).map(({ id, version }) => [id, version]));

test("a load of the open orders keeps the changes that arrive meanwhile", async () => {
  const queries = new QueryClient();
  for (const run of ["the first load", "a later load"]) {
    let respond: (page: Response) => void = () => {};
    server.page = () => new Promise((resolve) => (respond = resolve));
    const load = queries.fetchQuery({ ...openOrders, staleTime: 0 });
    const changed = [order("new", 1), order("changed", 2), order("closed", 2, "COMPLETED")];
    server.orders = Object.fromEntries(changed.map((one) => [one.id, one]));
    await readChanged(queries, changed);
    const data = [order("changed", 1), order("closed", 1), order("same", 1)]; // read before the changes
    respond({ data, meta: { nextCursor: null } });
    await load;
    expect(versions(queries), run).toEqual({ new: 1, changed: 2, same: 1 });
    queries.setQueryData(openOrders.queryKey, [order("changed", 1), order("closed", 1)]);
  }
});

test("an order on a page is read again although the board knows the version", async () => {
  const queries = new QueryClient();
  queries.setQueryData(openOrders.queryKey, [order("1", 2)]);
  queries.setQueryData(orderKey("1"), order("1", 1));
  server.orders = { 1: order("1", 2) };
  await readChanged(queries, [{ id: "1", version: 2 }]);
  expect(queries.getQueryData<Order>(orderKey("1"))?.version).toBe(2);
  server.reads = [];
  await readChanged(queries, [{ id: "1", version: 2 }]);
  expect(server.reads).toEqual([]);
});

test("an order on a page becomes stale when many orders change concurrently", async () => {
  const queries = new QueryClient();
  server.reads = [];
  queries.setQueryData(openOrders.queryKey, []);
  queries.setQueryData(orderKey("order-3"), order("order-3", 1));
  await readChanged(
    queries,
    Array.from({ length: 21 }, (_, i) => ({ id: `order-${i}`, version: 2 })),
  );
  expect(queries.getQueryState(orderKey("order-3"))?.isInvalidated).toBe(true);
  expect(queries.getQueryState(openOrders.queryKey)?.isInvalidated).toBe(true);
  expect(server.reads).toEqual([]);
});
