import { cleanup, render } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";

import type { Order } from "@/domain/orders";

import { Owed } from "./owed";

vi.mock("@/ui/format", () => ({ Money: ({ minor }: { minor: number }) => String(minor) }));

afterEach(cleanup);

test.each([
  ["an unpaid order", { paymentStatus: "UNPAID", outstandingMinor: 1000 }, ""],
  ["a part", { paymentStatus: "PARTIALLY_PAID", outstandingMinor: 400 }, "Collect 400"],
  ["a returned deposit", { paymentStatus: "REFUNDED", outstandingMinor: 1000 }, "Collect 1000"],
  ["a paid order", { paymentStatus: "PAID", outstandingMinor: 0 }, ""],
  ["an overpaid order", { paymentStatus: "PAID", refundableMinor: 200 }, "Return 200"],
])("what is owed for %s", (_, change, want) => {
  const order = { totalMinor: 1000, outstandingMinor: 0, refundableMinor: 0, currency: "EUR", ...change } as Order;
  expect(render(<Owed order={order} />).container.textContent).toBe(want);
});
