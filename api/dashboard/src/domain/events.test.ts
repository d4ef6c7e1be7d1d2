import { expect, test } from "vitest";

import { type StoreEvent, orderOf, partsOf } from "./events";

const event: StoreEvent = {
  id: "evt_1",
  type: "order.created",
  timestamp: "2026-03-14T12:00:00.000Z",
  position: 1,
  resource: "order/ord_1",
  cursor: "MQ",
  erased: false,
  body: { data: { source: "WEB" } as never },
};

test("orderOf returns the order of an order's event", () => {
  expect(orderOf(event)).toEqual({ source: "WEB" });
  expect(orderOf({ ...event, body: null })).toBeUndefined();
  expect(orderOf({ ...event, type: "payment.succeeded" })).toBeUndefined();
});

test("partsOf splits a resource", () => expect(partsOf("order/ord_1")).toEqual({ kind: "order", id: "ord_1" }));
