import { dayOf, oneOf, textOf } from "@/ui/search-params";

export const statuses = { SUCCEEDED: "Succeeded", FAILED: "Failed" } as const;

/** The page's filters. `order` is an order number. The days are in the store's time zone, and both are included. */
export type PaymentsSearch = {
  order?: string;
  status?: keyof typeof statuses;
  provider?: string;
  from?: string;
  to?: string;
};

/** Returns the name of a provider as the API accepts it, or undefined if it is not a name. */
export const providerOf = (text: string) => (/^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$/.test(text) ? text : undefined);

/** Returns the number of an order without the number sign, or undefined if it is not a number. */
export const orderNumberOf = (text: string) => /^#?([1-9]\d{0,17})$/.exec(text.trim())?.[1];

export const paymentsSearch = (search: Record<string, unknown>): PaymentsSearch => ({
  order: orderNumberOf(textOf(search, "order") ?? ""),
  status: oneOf(search, "status", statuses),
  provider: providerOf(textOf(search, "provider") ?? ""),
  from: dayOf(search, "from"),
  to: dayOf(search, "to"),
});
