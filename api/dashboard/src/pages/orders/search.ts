import { dayOf, oneOf, textOf } from "../search";
import { type Order, type Status, fulfillments, sources, statuses } from "./status";

/** What the page of orders shows, as its address says. */
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
