import { expect, test } from "vitest";

import { type PaymentSum, balanceOf, byDay, totalsOf } from "./sums";

const sum = (businessDate: string, change: Partial<PaymentSum> = {}): PaymentSum => ({
  businessDate,
  provider: "CASH",
  paymentMethod: "cash",
  channel: null,
  currency: "EUR",
  payments: 2,
  paymentsMinor: 1000,
  tipsMinor: 100,
  refunds: 1,
  refundsMinor: 300,
  ...change,
});

test("days are newest first, and keep the order of their rows", () => {
  const sums = [sum("2026-03-13"), sum("2026-03-14"), sum("2026-03-14", { provider: "STRIPE" })];
  expect(byDay(sums).map(([day, rows]) => [day, ...rows.map((row) => row.provider)])).toEqual([
    ["2026-03-14", "CASH", "STRIPE"],
    ["2026-03-13", "CASH"],
  ]);
  expect(byDay([])).toEqual([]);
});

test("totals are by currency", () => {
  const sums = [sum("2026-03-14", { currency: "USD" }), sum("2026-03-13"), sum("2026-03-14", { tipsMinor: -150 })];
  expect(totalsOf(sums)).toEqual([
    { currency: "EUR", payments: 4, paymentsMinor: 2000, tipsMinor: -50, refunds: 2, refundsMinor: 600 },
    { currency: "USD", payments: 2, paymentsMinor: 1000, tipsMinor: 100, refunds: 1, refundsMinor: 300 },
  ]);
  expect(totalsOf(sums).map(balanceOf)).toEqual([1350, 800]);
});
