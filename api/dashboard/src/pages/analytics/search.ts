import { dayOf, oneOf, textOf } from "@/ui/search-params";

import { type Granularity, type Preset, granularities, presets } from "./range";

/** The page's search parameters. `from` and `to` together override `range`. */
export type AnalyticsSearch = { range?: Preset; from?: string; to?: string; by?: Granularity; currency?: string };

export function analyticsSearch(search: Record<string, unknown>): AnalyticsSearch {
  const currency = textOf(search, "currency");
  return {
    range: oneOf<Preset>(search, "range", presets),
    from: dayOf(search, "from"),
    to: dayOf(search, "to"),
    by: oneOf<Granularity>(search, "by", granularities),
    currency: currency && /^[A-Z]{3}$/.test(currency) ? currency : undefined,
  };
}
