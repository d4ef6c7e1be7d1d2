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

/** When a day of the calendar begins in a zone, as the API takes times; where midnight is missing, what follows it. */
export function startOfDay(day: string, timezone: string) {
  const midnight = Date.parse(`${day}T00:00:00Z`);
  const offsets = [-36, -12, 12, 36].map((hours) => clock(midnight + hours * 3_600_000, timezone) - (midnight + hours * 3_600_000));
  const starts = offsets.map((offset) => midnight - offset).filter((at) => clock(at, timezone) >= midnight);
  return new Date(Math.min(...starts)).toISOString();
}
