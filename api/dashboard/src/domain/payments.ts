import type { components } from "@comanda/client";

import type { Order } from "./orders";

export type Payment = components["schemas"]["Payment"];

/** Returns the amount of a payment that can still be refunded, without its tip. */
export const refundable = ({ status, amountMinor, tipMinor, refundedMinor }: Payment) =>
  status === "SUCCEEDED" ? amountMinor - tipMinor - refundedMinor : 0;

/** Returns the part of a payment's tip that can still be refunded. */
export const refundableTip = ({ status, tipMinor, refundedTipMinor }: Payment) =>
  status === "SUCCEEDED" ? tipMinor - refundedTipMinor : 0;

export const canRefund = (payment: Payment) => refundable(payment) + refundableTip(payment) > 0;

/**
 * Returns the refund of a payment that settles its order: the amount to return, at most that of the payment. Only a
 * cancelled order returns the tip, too. The amount contains the tip; 0 = nothing has to be returned.
 */
export function proposedRefund(payment: Payment, order: Pick<Order, "status" | "refundableMinor">) {
  const tipMinor = order.status === "CANCELLED" ? refundableTip(payment) : 0;
  return { amountMinor: Math.min(refundable(payment), order.refundableMinor) + tipMinor, tipMinor };
}

const providerNames: Record<string, string> = { CASH: "Cash", CARD_TERMINAL: "Card terminal", VOUCHER: "Voucher" };

/** Returns the name of a payment's provider, and its method if the name does not state it. */
export function originOf({ provider, paymentMethod }: Pick<Payment, "provider" | "paymentMethod">) {
  const name = providerNames[provider] ?? provider;
  return name.toLowerCase() === paymentMethod.toLowerCase() ? { name } : { name, method: paymentMethod };
}

/** The provider of each payment method that is recorded without an integration. */
export const providers = { cash: "CASH", card: "CARD_TERMINAL", voucher: "VOUCHER" };
