import { kinds } from "@/domain/customers";
import { oneOf, textOf } from "@/ui/search-params";

/** The page's search parameters. */
export type CustomersSearch = { q?: string; kind?: keyof typeof kinds };

export const customersSearch = (search: Record<string, unknown>): CustomersSearch => ({
  q: textOf(search, "q"),
  kind: oneOf(search, "kind", kinds),
});
