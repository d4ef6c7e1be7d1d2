// Days are YYYY-MM-DD. Instants are in the API's time format, RFC 3339 with milliseconds.

/** Returns the day that is `days` days after another one. */
export const addDays = (day: string, days: number) => Temporal.PlainDate.from(day).add({ days }).toString();

/** Returns the number of days in a range, including both ends. */
export const daysIn = (from: string, to: string) => Temporal.PlainDate.from(from).until(to).days + 1;

/** A range of business days, including both ends. */
export type Range = { from: string; to: string };

/** Returns why the API would refuse a range of a report, or undefined if it is valid. */
export function rangeError({ from, to }: Range): string | undefined {
  if (to < from) return "The last day is before the first day.";
  if (daysIn(from, to) > 366) return "Choose at most 366 days.";
  return undefined;
}

/** Returns the business day of an instant: before the cutoff hour it is the previous day. */
export function businessDay(at: number, timezone: string, cutoffHour: number) {
  const local = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timezone).toPlainDateTime();
  return local.subtract({ hours: cutoffHour }).toPlainDate().toString();
}

/** Returns the calendar day of an instant. */
export const dayOf = (at: number, timezone: string) => businessDay(at, timezone, 0);

/** Returns the local time (HH:MM) of an instant in a zone. */
export const timeOf = (at: number, timezone: string) =>
  Temporal.Instant.fromEpochMilliseconds(at)
    .toZonedDateTimeISO(timezone)
    .toPlainTime()
    .toString({ smallestUnit: "minute" });

const format = (time: Temporal.ZonedDateTime) => time.toInstant().toString({ smallestUnit: "millisecond" });

/**
 * Returns the instant of a local time (HH:MM) in a zone. A time that occurs twice means the first
 * occurrence; a time that is skipped is moved forward by the length of the gap.
 */
export const instantOf = (day: string, time: string, timezone: string) =>
  format(Temporal.PlainDateTime.from(`${day}T${time}`).toZonedDateTime(timezone));

/** Returns the start of a calendar day in a zone. */
export const startOfDay = (day: string, timezone: string) =>
  format(Temporal.PlainDate.from(day).toZonedDateTime(timezone));
