import type { components } from "@comanda/client";

export type PaymentSum = components["schemas"]["PaymentSum"];

export type Totals = Pick<
  PaymentSum,
  "currency" | "payments" | "paymentsMinor" | "tipsMinor" | "refunds" | "refundsMinor"
>;

/** Returns what is left of payments and tips after the refunds: the money that a cash register has to contain. */
export const balanceOf = ({ paymentsMinor, tipsMinor, refundsMinor }: Totals) =>
  paymentsMinor + tipsMinor - refundsMinor;

/** Returns the sums by business day, newest day first. */
export function byDay(sums: PaymentSum[]): [day: string, sums: PaymentSum[]][] {
  const days = new Map<string, PaymentSum[]>();
  for (const sum of sums) days.set(sum.businessDate, [...(days.get(sum.businessDate) ?? []), sum]);
  return [...days].sort(([a], [b]) => (a < b ? 1 : -1));
}

/** Adds up sums by currency. Amounts of different currencies are never added. */
export function totalsOf(sums: PaymentSum[]): Totals[] {
  const totals = new Map<string, Totals>();
  for (const sum of sums) {
    const total = totals.get(sum.currency);
    totals.set(sum.currency, {
      currency: sum.currency,
      payments: (total?.payments ?? 0) + sum.payments,
      paymentsMinor: (total?.paymentsMinor ?? 0) + sum.paymentsMinor,
      tipsMinor: (total?.tipsMinor ?? 0) + sum.tipsMinor,
      refunds: (total?.refunds ?? 0) + sum.refunds,
      refundsMinor: (total?.refundsMinor ?? 0) + sum.refundsMinor,
    });
  }
  return [...totals.values()].sort((a, b) => (a.currency < b.currency ? -1 : 1));
}
