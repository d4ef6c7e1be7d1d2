import { oneOf, textOf } from "@/ui/search-params";

/** The page's search parameters. */
export type ProductsSearch = { q?: string; category?: string; available?: "yes" | "no"; arrange?: true };

export const productsSearch = (search: Record<string, unknown>): ProductsSearch => ({
  q: textOf(search, "q"),
  category: textOf(search, "category"),
  available: oneOf(search, "available", { yes: 1, no: 1 }),
  arrange: search.arrange === true ? true : undefined,
});
