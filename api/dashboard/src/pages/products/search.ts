import { oneOf, textOf } from "../search";

/** What the page of products shows, as its address says. */
export type ProductsSearch = { q?: string; category?: string; available?: "yes" | "no" };

export const productsSearch = (search: Record<string, unknown>): ProductsSearch => ({
  q: textOf(search, "q"),
  category: textOf(search, "category"),
  available: oneOf(search, "available", { yes: 1, no: 1 }),
});
