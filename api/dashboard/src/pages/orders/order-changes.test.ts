import { QueryClient } from "@tanstack/react-query";
import { expect, test, vi } from "vitest";

import { queries } from "@/api/queries";
import type { Order } from "@/domain/orders";

import { readChanged } from "./order-changes";

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
const versions = (client: QueryClient) =>
  Object.fromEntries((client.getQueryData(queries.openOrders.queryKey) ?? []).map(({ id, version }) => [id, version]));

test("a load of the open orders keeps the changes that arrive meanwhile", async () => {
  const client = new QueryClient();
  for (const run of ["the first load", "a later load"]) {
    let respond: (page: Response) => void = () => {};
    server.page = () => new Promise((resolve) => (respond = resolve));
    const load = client.fetchQuery({ ...queries.openOrders, staleTime: 0 });
    const changed = [order("new", 1), order("changed", 2), order("closed", 2, "COMPLETED")];
    server.orders = Object.fromEntries(changed.map((one) => [one.id, one]));
    await readChanged(
      client,
      changed.map(({ id, version }) => ({ id, version })),
    );
    const data = [order("changed", 1), order("closed", 1), order("same", 1)]; // read before the changes
    respond({ data, meta: { nextCursor: null } });
    await load;
    expect(versions(client), run).toEqual({ new: 1, changed: 2, same: 1 });
    client.setQueryData(queries.openOrders.queryKey, [order("changed", 1), order("closed", 1)]);
  }
});

test("an order on a page is read again although the board knows the version", async () => {
  const client = new QueryClient();
  client.setQueryData(queries.openOrders.queryKey, [order("1", 2)]);
  client.setQueryData(queries.orders.one("1").queryKey, order("1", 1));
  server.orders = { 1: order("1", 2) };
  await readChanged(client, [{ id: "1", version: 2 }]);
  expect(client.getQueryData(queries.orders.one("1").queryKey)?.version).toBe(2);
  server.reads = [];
  await readChanged(client, [{ id: "1", version: 2 }]);
  expect(server.reads).toEqual([]);
});

test("a tick is read although the version is the same, and an earlier state does not replace it", async () => {
  const client = new QueryClient();
  const at = (minute: number) => ({ ...order("1", 2), updatedAt: `2026-03-14T12:0${minute}:00.000Z` });
  client.setQueryData(queries.openOrders.queryKey, [at(0)]);
  client.setQueryData(queries.orders.one("1").queryKey, at(0));
  const shown = () => [
    client.getQueryData(queries.openOrders.queryKey)?.[0]?.updatedAt,
    client.getQueryData(queries.orders.one("1").queryKey)?.updatedAt,
  ];
  for (const [read, wanted] of [
    [1, 1],
    [0, 1],
    [2, 2],
  ] as const) {
    server.orders = { 1: at(read) };
    await readChanged(client, [{ id: "1", version: 2, items: true }]);
    expect(shown()).toEqual([at(wanted).updatedAt, at(wanted).updatedAt]);
  }
});

test("an order on a page becomes stale when many orders change concurrently", async () => {
  const client = new QueryClient();
  server.reads = [];
  client.setQueryData(queries.openOrders.queryKey, []);
  client.setQueryData(queries.orders.one("order-3").queryKey, order("order-3", 1));
  await readChanged(
    client,
    Array.from({ length: 21 }, (_, i) => ({ id: `order-${i}`, version: 2 })),
  );
  expect(client.getQueryState(queries.orders.one("order-3").queryKey)?.isInvalidated).toBe(true);
  expect(client.getQueryState(queries.openOrders.queryKey)?.isInvalidated).toBe(true);
  expect(server.reads).toEqual([]);
});
