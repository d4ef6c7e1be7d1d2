import { expect, test } from "vitest";

import { type Order, ago, byWhom, columnsOf, laterOf, nextOf } from "./status";

test("the next step is never a cancellation", () => {
  expect(nextOf({ allowedTransitions: ["CONFIRMED", "PREPARING", "CANCELLED"] })).toBe("CONFIRMED");
  expect(laterOf({ allowedTransitions: ["CONFIRMED", "PREPARING", "CANCELLED"] })).toEqual(["PREPARING"]);
  expect(nextOf({ allowedTransitions: ["CANCELLED"] })).toBeUndefined();
  expect(nextOf({ allowedTransitions: [] })).toBeUndefined();
});

test("columns hold what is open, the oldest first", () => {
  const order = (orderId: string, status: string, minute: number) => ({ orderId, status, createdAt: `2026-03-14T12:0${minute}:00.000Z` }) as Order;
  const columns = columnsOf([order("3", "READY", 3), order("2", "READY", 1), order("1", "READY", 1), order("9", "COMPLETED", 0)]);
  expect(columns.READY.map((one) => one.orderId)).toEqual(["1", "2", "3"]);
  expect(columns.RECEIVED).toEqual([]);
});

test("ages are short", () => {
  const now = Date.parse("2026-03-14T12:00:00Z");
  expect(ago("2026-03-14T12:00:05Z", now)).toBe("0 min");
  expect(ago("2026-03-14T11:01:00Z", now)).toBe("59 min");
  expect(ago("2026-03-14T09:30:00Z", now)).toBe("2 h 30 min");
  expect(ago("2026-03-11T09:30:00Z", now)).toBe("3 d");
});

test("it is said who did it", () => {
  expect(byWhom({ realm: "tenant", id: "usr_1", name: "Grace Hopper" })).toBe("by Grace Hopper");
  expect(byWhom({ realm: "api-key", id: "key_1", name: "Till" })).toBe("by the API key Till");
  expect(byWhom({ realm: "tenant", id: "usr_1" })).toBe("by a user");
  expect(byWhom({ realm: "customer" })).toBe("by the guest");
  expect(byWhom({})).toBe("by Comanda itself");
});
