import { QueryClient } from "@tanstack/react-query";
import { expect, test } from "vitest";

import { type Resource, invalidate, orderLists, paymentLists, queries } from "./queries";

type Keyed = { queryKey: readonly unknown[] };
type Entry = Keyed | ((...args: never[]) => Keyed);

/** Returns the queries of a resource. The arguments of their functions do not matter. */
function queriesOf(resource: Resource): Keyed[] {
  const entry = queries[resource] as Entry | Record<string, Entry>;
  const all = typeof entry === "function" || "queryKey" in entry ? [entry as Entry] : Object.values(entry);
  return all.map((one) => (typeof one === "function" ? one("a" as never, "b" as never) : one));
}

const resources = Object.keys(queries) as Resource[];

test("each key begins with its resource, and no two queries share a key", () => {
  const keys = resources.flatMap((resource) =>
    queriesOf(resource).map(({ queryKey }) => {
      expect(queryKey[0]).toBe(resource);
      return JSON.stringify(queryKey);
    }),
  );
  expect(keys.toSorted()).toEqual([...new Set(keys)].toSorted());
});

/** Returns the resources whose queries a change of a resource invalidates. */
async function invalidatedBy(resource: Resource) {
  const client = new QueryClient();
  for (const one of resources) client.setQueryData(queriesOf(one)[0]!.queryKey, {});
  await invalidate(client, resource);
  return resources.filter((one) => client.getQueryState(queriesOf(one)[0]!.queryKey)?.isInvalidated);
}

test("a change invalidates its resource and the resources that show it", async () => {
  expect(await invalidatedBy("webhooks")).toEqual(["webhooks"]);
  expect(await invalidatedBy("orders")).toEqual(["orders"]); // not the open orders, which the event stream patches
  expect(await invalidatedBy("users")).toEqual(["me", "stores", "users"]);
  expect(await invalidatedBy("settings")).toEqual(resources);
});

test("an event of an order invalidates the lists of orders and payments and the sums of payments", () => {
  const client = new QueryClient();
  const { list, payments, paymentSums, one, paymentsOf, deliveries } = queries.orders;
  const range = { from: "2026-03-13", to: "2026-03-14" };
  const keys = [list({}), payments({}), paymentSums(range), one("a"), paymentsOf("a"), deliveries("a")].map(
    ({ queryKey }) => queryKey as readonly unknown[],
  );
  for (const key of keys) client.setQueryData(key, {});
  const invalidated = () => keys.filter((key) => client.getQueryState(key)?.isInvalidated);
  void client.invalidateQueries(orderLists);
  expect(invalidated()).toEqual(keys.slice(0, 1));
  void client.invalidateQueries(paymentLists);
  expect(invalidated()).toEqual(keys.slice(0, 3));
});
