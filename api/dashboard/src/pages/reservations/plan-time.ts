import type { Reservation } from "@/domain/reservations";
import { addDays, startOfDay } from "@/domain/zone";

const minute = 60_000;
const hour = 60 * minute;

/** The plan moves reservations in steps of this many milliseconds. */
export const step = 15 * minute;

/** The hour at which a plan begins at the latest. */
const latestBegin = 10;

/** A period of a day, in milliseconds. */
export type Period = { from: number; to: number };

/** Returns the part of a day that the plan shows: from 10:00 or the first reservation until midnight. */
export function periodOf(day: string, timezone: string, reservations: Pick<Reservation, "startAt">[]): Period {
  const dawn = Date.parse(startOfDay(day, timezone));
  const first = Math.min(dawn + latestBegin * hour, ...reservations.map((one) => Date.parse(one.startAt)));
  const from = Math.max(dawn, dawn + Math.floor((first - dawn) / hour) * hour);
  return { from, to: Date.parse(startOfDay(addDays(day, 1), timezone)) };
}

/** Returns the times of the labels of a plan, at full hours. */
export const hoursOf = ({ from, to }: Period) =>
  Array.from({ length: Math.ceil((to - from) / hour) }, (_, i) => from + i * hour);

/** Returns the place and the length of a reservation as shares of the period, without the parts outside of it. */
export function barOf(period: Period, { from, to }: Period) {
  const length = period.to - period.from;
  const start = Math.max(from, period.from);
  const end = Math.min(to, period.to);
  return { left: (start - period.from) / length, width: Math.max(0, end - start) / length };
}

/** Returns a start moved by some milliseconds, at a full step and within the period. */
export function movedTo(period: Period, start: number, by: number) {
  const moved = Math.round((start + by) / step) * step;
  const first = Math.ceil(period.from / step) * step;
  return Math.min(Math.max(moved, first), period.to - step);
}
