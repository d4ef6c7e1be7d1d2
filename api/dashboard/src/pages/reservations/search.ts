import { dayOf } from "@/ui/search-params";

/** The page's search parameters. The default day is today. */
export type ReservationsSearch = { day?: string };

export const reservationsSearch = (search: Record<string, unknown>): ReservationsSearch => ({
  day: dayOf(search, "day"),
});
