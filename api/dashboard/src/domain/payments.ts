import type { components } from "@comanda/client";

export type Payment = components["schemas"]["Payment"];

/** Returns the amount of a payment that can still be refunded. */
export const refundable = (payment: Payment) =>
  payment.status === "SUCCEEDED" ? payment.amountMinor - payment.refundedMinor : 0;

const providerNames: Record<string, string> = { CASH: "Cash", CARD_TERMINAL: "Card terminal", VOUCHER: "Voucher" };

/** Returns the name of a payment's provider, and its method if the name does not state it. */
export function originOf({ provider, paymentMethod }: Pick<Payment, "provider" | "paymentMethod">) {
  const name = providerNames[provider] ?? provider;
  return name.toLowerCase() === paymentMethod.toLowerCase() ? { name } : { name, method: paymentMethod };
}

/** The provider of each payment method that is recorded without an integration. */
export const providers = { cash: "CASH", card: "CARD_TERMINAL", voucher: "VOUCHER" };
