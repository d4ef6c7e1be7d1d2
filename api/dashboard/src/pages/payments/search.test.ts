import { expect, test } from "vitest";

import { paymentsSearch } from "./search";

test("valid filters are kept, and the router's numbers are texts", () =>
  expect(
    paymentsSearch({ order: 12, status: "FAILED", provider: "STRIPE", from: "2026-01-01", to: "2026-01-31" }),
  ).toEqual({ order: "12", status: "FAILED", provider: "STRIPE", from: "2026-01-01", to: "2026-01-31" }));

test("an order number may have a number sign", () => expect(paymentsSearch({ order: "#12" }).order).toBe("12"));

test.each([
  ["order", "0"],
  ["order", "12a"],
  ["status", "toString"],
  ["provider", "<b>"],
  ["provider", "x".repeat(51)],
  ["from", "2026-02-30"],
  ["to", "tomorrow"],
] as const)("%s %s is dropped", (name, value) => expect(paymentsSearch({ [name]: value })[name]).toBeUndefined());
