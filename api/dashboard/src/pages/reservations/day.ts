import type { components } from "@/api/schema";
import type { Tone } from "@/ui/page";

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


/** The day that it is in a zone, as YYYY-MM-DD. */
export const dayIn = (zone: string, at: Date) => new Intl.DateTimeFormat("en-CA", { timeZone: zone, dateStyle: "short" }).format(at);

/** Another day, some days on. */
export function dayAfter(day: string, days: number): string {
  const date = new Date(`${day}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() + days);
  return date.toISOString().slice(0, 10);
}

/**
 * The instant of a wall clock's time in a zone. Of a time that comes twice when clocks go back
 * it is the first; one that is left out when they go forward is moved on by what is left out.
 */
export function instantIn(zone: string, day: string, time: string): Date {
  const wall = Date.parse(`${day}T${time}:00Z`);
  const earlier = wall - offset(zone, wall - 86_400_000);
  const later = wall - offset(zone, wall + 86_400_000);
  const fits = [earlier, later].filter((at) => at + offset(zone, at) === wall).sort((a, b) => a - b);
  return new Date(fits[0] ?? earlier);
}

/** How far a zone's clocks are ahead of UTC at an instant, in milliseconds. */
function offset(zone: string, at: number): number {
  const parts = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  }).formatToParts(at);
  const of = (type: string) => Number(parts.find((part) => part.type === type)!.value);
  return Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second")) - Math.floor(at / 1000) * 1000;
}
