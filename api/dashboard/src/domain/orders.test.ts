import { expect, test } from "vitest";

import {
  type Order,
  formatAge,
  actorLabel,
  columnsOf,
  describeFields,
  describeItemChange,
  isScheduled,
  laterStatuses,
  nextStatus,
  urgencyOf,
} from "./orders";

test("the next status is never CANCELLED", () => {
  expect(nextStatus({ allowedTransitions: ["CONFIRMED", "PREPARING", "CANCELLED"] })).toBe("CONFIRMED");
  expect(laterStatuses({ allowedTransitions: ["CONFIRMED", "PREPARING", "CANCELLED"] })).toEqual(["PREPARING"]);
  expect(nextStatus({ allowedTransitions: ["CANCELLED"] })).toBeUndefined();
  expect(nextStatus({ allowedTransitions: [] })).toBeUndefined();
});

test("columns hold the open orders, oldest first", () => {
  const order = (orderId: string, status: string, minute: number) =>
    ({ orderId, status, createdAt: `2026-03-14T12:0${minute}:00.000Z` }) as Order;
  const columns = columnsOf([
    order("3", "READY", 3),
    order("2", "READY", 1),
    order("1", "READY", 1),
    order("9", "COMPLETED", 0),
  ]);
  expect(columns.READY.map((one) => one.orderId)).toEqual(["1", "2", "3"]);
  expect(columns.RECEIVED).toEqual([]);
});

test("formatAge uses at most two units", () => {
  const now = Date.parse("2026-03-14T12:00:00Z");
  expect(formatAge("2026-03-14T12:00:05Z", now)).toBe("0 min");
  expect(formatAge("2026-03-14T11:01:00Z", now)).toBe("59 min");
  expect(formatAge("2026-03-14T09:30:00Z", now)).toBe("2 h 30 min");
  expect(formatAge("2026-03-11T09:30:00Z", now)).toBe("3 d");
});

test("actorLabel names users, API keys, guests and Comanda", () => {
  expect(actorLabel({ realm: "tenant", id: "usr_1", name: "Grace Hopper" })).toBe("by Grace Hopper");
  expect(actorLabel({ realm: "api-key", id: "key_1", name: "Till" })).toBe("by the API key Till");
  expect(actorLabel({ realm: "tenant", id: "usr_1" })).toBe("by a user");
  expect(actorLabel({ realm: "customer" })).toBe("by the guest");
  expect(actorLabel({})).toBe("by Comanda");
});

test("urgencyOf compares with the promised time", () => {
  const now = Date.parse("2026-03-14T12:00:00Z");
  expect(urgencyOf("2026-03-14T12:06:00Z", now, 5)).toBe("normal");
  expect(urgencyOf("2026-03-14T12:05:00Z", now, 5)).toBe("soon");
  expect(urgencyOf("2026-03-14T12:00:00Z", now, 5)).toBe("late");
});

test("isScheduled ends when the preparation is due or starts", () => {
  const now = Date.parse("2026-03-14T12:00:00Z");
  const order = (status: Order["status"], dueAt: string | null) => ({ status, dueAt });
  expect(isScheduled(order("RECEIVED", "2026-03-14T12:00:01Z"), now)).toBe(true);
  expect(isScheduled(order("CONFIRMED", "2026-03-14T12:00:01Z"), now)).toBe(true);
  expect(isScheduled(order("PREPARING", "2026-03-14T12:00:01Z"), now)).toBe(false);
  expect(isScheduled(order("RECEIVED", "2026-03-14T12:00:00Z"), now)).toBe(false);
  expect(isScheduled(order("RECEIVED", null), now)).toBe(false);
});

test("changes of an order are described in words", () => {
  const option = { groupId: "g", groupName: "Size", optionId: "o", name: "Large", quantity: 1, priceMinor: 0 };
  const item = { id: "i", productId: "p", productName: "Pizza", quantity: 1, options: [option], note: "crisp" };
  const after = { ...item, options: [], quantity: 2, note: "" } as unknown as Order["items"][number];
  const before = item as unknown as Order["items"][number];
  expect(describeItemChange({ itemId: "i", action: "CHANGED", before, after })).toBe(
    "Changed: 1 × Pizza with Large (crisp) → 2 × Pizza",
  );
  expect(describeFields(["items"])).toBe("Items changed");
  expect(describeFields(["items", "tableLabel", "note"])).toBe("Items, table, and note changed");
  expect(describeFields(["customer"])).toBe("Guest changed");
});
