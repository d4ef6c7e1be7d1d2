import { dayOf } from "@/ui/search-params";

/** The page's search parameters, business days. Without them, it shows yesterday and today. */
export type CashUpSearch = { from?: string; to?: string };

export const cashUpSearch = (search: Record<string, unknown>): CashUpSearch => ({
  from: dayOf(search, "from"),
  to: dayOf(search, "to"),
});
