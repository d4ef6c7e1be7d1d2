import type { components } from "@/api/schema";

type Product = components["schemas"]["Product"];

/** The price of a product in a currency, undefined when it has none. */
export const priceIn = (product: Pick<Product, "currency" | "priceMinor" | "prices">, currency: string): number | undefined =>
  product.currency === currency ? product.priceMinor : product.prices[currency];
