import type { components } from "@comanda/client";

import type { Tone } from "./tone";
import { dayOf, timeOf } from "./zone";

export type Reservation = components["schemas"]["Reservation"];
export type Status = Reservation["status"];

export const statuses: Record<Status, { label: string; tone: Tone; action: string }> = {
  PENDING: { label: "Pending", tone: "accent", action: "Mark pending" },
  CONFIRMED: { label: "Confirmed", tone: "good", action: "Confirm" },
  COMPLETED: { label: "Completed", tone: "neutral", action: "Mark completed" },
  NO_SHOW: { label: "No-show", tone: "warn", action: "Mark no-show" },
  CANCELLED: { label: "Cancelled", tone: "bad", action: "Cancel" },
};

/** Reports whether a reservation occupies seats. */
export const holdsSeats = (reservation: Pick<Reservation, "status">) =>
  reservation.status === "PENDING" || reservation.status === "CONFIRMED";

/** Reports whether a reservation starts before a day, and whether it ends after that day. */
export const extendsBeyond = (
  { startAt, endAt, timezone }: Pick<Reservation, "startAt" | "endAt" | "timezone">,
  day: string,
) => ({
  before: dayOf(Date.parse(startAt), timezone) < day,
  after: dayOf(Date.parse(endAt) - 1, timezone) > day,
});

/** Reports whether a reservation holds the personal data of a guest. That of a customer is erased with the customer. */
export const holdsGuest = ({ customer }: Pick<Reservation, "customer">) => !customer.id && customer.name !== "";

/** Returns the name of the guest. The API requires a name, so that only an erasure removes it. */
export const guestOf = ({ customer }: Pick<Reservation, "customer">) => customer.name || "Erased guest";

/** Returns the free times (HH:MM) that are closest to a time of the day, in order. A repeated hour counts once. */
export function closestTimes(slots: readonly { startAt: string }[], time: string, timezone: string, count: number) {
  const minutes = (clock: string) => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3));
  const all = [...new Set(slots.map((slot) => timeOf(Date.parse(slot.startAt), timezone)))];
  const distance = (clock: string) => Math.abs(minutes(clock) - minutes(time));
  return all
    .toSorted((a, b) => distance(a) - distance(b))
    .slice(0, count)
    .sort();
}
