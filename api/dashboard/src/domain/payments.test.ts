import { expect, test } from "vitest";

import type { Order } from "./orders";
import { type Payment, canRefund, proposedRefund, refundable, refundableTip } from "./payments";

const payment = (change: Partial<Payment> = {}) =>
  ({
    status: "SUCCEEDED",
    amountMinor: 2200,
    tipMinor: 300,
    refundedMinor: 0,
    refundedTipMinor: 0,
    ...change,
  }) as Payment;

test("what can be refunded, and the tip, are separate", () => {
  expect([refundable(payment()), refundableTip(payment())]).toEqual([1900, 300]);
  const rest = payment({ refundedMinor: 1900, refundedTipMinor: 100 });
  expect([refundable(rest), refundableTip(rest), canRefund(rest)]).toEqual([0, 200, true]);
  expect(canRefund(payment({ refundedMinor: 1900, refundedTipMinor: 300 }))).toBe(false);
  expect(canRefund(payment({ status: "FAILED" }))).toBe(false);
});

const order = (status: Order["status"], refundableMinor: number) => ({ status, refundableMinor });

test.each([
  ["a paid order: nothing has to be returned", order("READY", 0), {}, [0, 0]],
  ["a lowered order: the difference", order("READY", 400), {}, [400, 0]],
  ["paid with two payments: at most this one", order("READY", 2500), {}, [1900, 0]],
  ["a cancelled order: all of it with the tip", order("CANCELLED", 1900), {}, [2200, 300]],
  [
    "a cancelled order with refunds: the rest",
    order("CANCELLED", 400),
    { refundedMinor: 1500, refundedTipMinor: 300 },
    [400, 0],
  ],
  ["a failed payment", order("CANCELLED", 400), { status: "FAILED" as const }, [0, 0]],
])("%s", (_, of, change, [amountMinor, tipMinor]) =>
  expect(proposedRefund(payment(change), of)).toEqual({ amountMinor, tipMinor }),
);
