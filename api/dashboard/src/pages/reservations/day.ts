import type { components } from "@/api/schema";
import type { Tone } from "@/ui/page";
import { dayOf } from "@/ui/zone";

export type Reservation = components["schemas"]["Reservation"];
export type Status = Reservation["status"];

export const statuses: Record<Status, { label: string; tone: Tone; deed: string }> = {
  PENDING: { label: "Pending", tone: "accent", deed: "Set pending" },
  CONFIRMED: { label: "Confirmed", tone: "good", deed: "Confirm" },
  COMPLETED: { label: "Completed", tone: "neutral", deed: "They came" },
  NO_SHOW: { label: "No-show", tone: "warn", deed: "No-show" },
  CANCELLED: { label: "Cancelled", tone: "bad", deed: "Cancel" },
};

/** Whether a reservation holds seats. */
export const holdsSeats = (reservation: Pick<Reservation, "status">) => reservation.status === "PENDING" || reservation.status === "CONFIRMED";

/** Whether a reservation began before a day, and whether it goes on after it. */
export const around = ({ startAt, endAt, timezone }: Pick<Reservation, "startAt" | "endAt" | "timezone">, day: string) => ({
  before: dayOf(Date.parse(startAt), timezone) < day,
  after: dayOf(Date.parse(endAt) - 1, timezone) > day,
});
