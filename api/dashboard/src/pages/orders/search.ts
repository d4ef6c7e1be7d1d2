import { type Order, type Status, fulfillments, sources, statuses } from "@/domain/orders";
import { dayOf, oneOf, textOf } from "@/ui/search-params";

/** The page's search parameters. `day` is a business day; `refund` selects orders that need a refund. */
export type OrdersSearch = {
  view?: "board" | "all";
  q?: string;
  status?: Status;
  fulfillmentType?: Order["fulfillmentType"];
  source?: Order["source"];
  day?: string;
  refund?: boolean;
};

export const ordersSearch = (search: Record<string, unknown>): OrdersSearch => ({
  view: oneOf(search, "view", { board: 1, all: 1 }),
  q: textOf(search, "q"),
  status: oneOf(search, "status", statuses),
  fulfillmentType: oneOf(search, "fulfillmentType", fulfillments),
  source: oneOf(search, "source", sources),
  day: dayOf(search, "day"),
  refund: search.refund === true || undefined,
});
