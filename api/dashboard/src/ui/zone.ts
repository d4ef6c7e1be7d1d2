// Days are YYYY-MM-DD, counted in UTC where no hour is missing.

/** The day some days after another one. */
export const addDays = (day: string, days: number) => new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);

/** How many days there are from one to another, both included. */
export const daysIn = (from: string, to: string) => Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000) + 1;

/** What the clocks of a zone show at a moment, as if it were UTC: milliseconds since 1970. */
function clock(at: number, timezone: string) {
  const parts = new Intl.DateTimeFormat("en-US", {
    timeZone: timezone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  }).formatToParts(at);
  const part = (type: Intl.DateTimeFormatPartTypes) => Number(parts.find((one) => one.type === type)!.value);
  return Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second"));
}

/** The business day of a moment: before the cutoff hour it is still the day before. */
export function businessDay(at: number, timezone: string, cutoffHour: number) {
  const local = new Date(clock(at, timezone));
  const day = local.toISOString().slice(0, 10);
  return local.getUTCHours() < cutoffHour ? addDays(day, -1) : day;
}

/** The day of the calendar of a moment. */
export const dayOf = (at: number, timezone: string) => businessDay(at, timezone, 0);

/**
 * The moment of a wall clock's time (HH:MM) in a zone. Of a time that comes twice when clocks go
 * back it is the first; one that is left out when they go forward is moved on by what is left out.
 */
export function instantOf(day: string, time: string, timezone: string): Date {
  const wall = Date.parse(`${day}T${time}:00Z`);
  const offset = (at: number) => clock(at, timezone) - at;
  const before = wall - offset(wall - 86_400_000);
  const after = wall - offset(wall + 86_400_000);
  const fits = [before, after].filter((at) => clock(at, timezone) === wall);
  return new Date(fits.length > 0 ? Math.min(...fits) : before);
}

/** When a day of the calendar begins in a zone, as the API takes times. */
export const startOfDay = (day: string, timezone: string) => instantOf(day, "00:00", timezone).toISOString();
