import { expect, expectTypeOf, test } from "vitest";

import { paginate } from "../src/index.js";
import { failure, serve, success } from "./server.js";

/** A list of five orders. The cursor is the number of the next one. */
const list = () =>
  serve(({ path }) => {
    const query = new URL(path, "https://api.example.com").searchParams;
    const [from, limit] = [Number(query.get("cursor") ?? 0), Number(query.get("limit"))];
    const rows = [1, 2, 3, 4, 5].slice(from, from + limit).map((n) => ({ id: `ord_${n}` }));
    return success(rows, { limit, nextCursor: from + limit < 5 ? String(from + limit) : null, requestId: "r" });
  });

test("it yields the rows of all pages, with the filters in each request", async () => {
  const { client, requests } = list();
  const ids = [];
  for await (const order of paginate(client, "/orders", { params: { query: { status: ["READY"], limit: 2 } } })) {
    expectTypeOf(order.totalMinor).toEqualTypeOf<number>();
    ids.push(order.id);
  }
  expect(ids).toEqual(["ord_1", "ord_2", "ord_3", "ord_4", "ord_5"]);
  expect(requests.map(({ path }) => path)).toEqual([
    "/orders?limit=2&status=READY",
    "/orders?limit=2&status=READY&cursor=2",
    "/orders?limit=2&status=READY&cursor=4",
  ]);
});

test("it requests a page only when its rows are needed", async () => {
  const { client, requests } = list();
  for await (const order of paginate(client, "/orders", { params: { query: { limit: 2 } } }))
    if (order.id === "ord_2") break;
  expect(requests).toHaveLength(1);
});

test("by default, it starts with the first row and requests 100", async () => {
  const { client, requests } = list();
  const ids = [];
  for await (const { id } of paginate(client, "/orders")) ids.push(id);
  expect(ids).toHaveLength(5);
  expect(requests.map(({ path }) => path)).toEqual(["/orders?limit=100"]);
});

test("it continues at a cursor, and passes path parameters and the signal", async () => {
  const { client } = list();
  const rows = paginate(client, "/orders", { params: { query: { cursor: "3" } } });
  expect((await rows.next()).value).toMatchObject({ id: "ord_4" });
  const aborted = paginate(client, "/orders", { signal: AbortSignal.abort(new Error("enough")) });
  await expect(aborted.next()).rejects.toThrow("enough");

  const { client: other, requests } = serve(() => success([], { limit: 100, nextCursor: null }));
  await paginate(other, "/orders/{id}/payments", { params: { path: { id: "ord_1" } } }).next();
  expect(requests[0]?.path).toBe("/orders/ord_1/payments?limit=100");
  // @ts-expect-error: not a list with a cursor
  expect(() => paginate(other, "/store")).not.toThrow();
});

test("an error ends the iteration", async () => {
  const { client } = serve(() => failure(403, "INSUFFICIENT_SCOPE"));
  await expect(paginate(client, "/orders").next()).rejects.toMatchObject({ code: "INSUFFICIENT_SCOPE" });
});
