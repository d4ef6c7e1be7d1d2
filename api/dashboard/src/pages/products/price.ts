import type { components } from "@comanda/client";

type Product = components["schemas"]["Product"];

/** Returns the price of a product in a currency, in minor units, or undefined if it has none. */
export const priceIn = (
  product: Pick<Product, "currency" | "priceMinor" | "prices">,
  currency: string,
): number | undefined => (product.currency === currency ? product.priceMinor : product.prices[currency]);
