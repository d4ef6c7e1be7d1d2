import { dayOf } from "../search";

/** Which day the page of reservations shows; none is today. */
export type ReservationsSearch = { day?: string };

export const reservationsSearch = (search: Record<string, unknown>): ReservationsSearch => ({ day: dayOf(search, "day") });
