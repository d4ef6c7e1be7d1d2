import { type Range, addDays, daysIn } from "@/domain/zone";

export const granularities = { hour: "Hours", day: "Days", week: "Weeks", month: "Months" };

export type Granularity = keyof typeof granularities;

/** The preset ranges, relative to the current business day. */
export const presets = {
  today: { label: "Today", range: (today: string): Range => ({ from: today, to: today }) },
  yesterday: {
    label: "Yesterday",
    range: (today: string): Range => ({ from: addDays(today, -1), to: addDays(today, -1) }),
  },
  "7d": { label: "Last 7 days", range: (today: string): Range => ({ from: addDays(today, -6), to: today }) },
  "30d": { label: "Last 30 days", range: (today: string): Range => ({ from: addDays(today, -29), to: today }) },
  month: { label: "This month", range: (today: string): Range => ({ from: `${today.slice(0, 7)}-01`, to: today }) },
  lastMonth: {
    label: "Last month",
    range: (today: string): Range => {
      const last = addDays(`${today.slice(0, 7)}-01`, -1);
      return { from: `${last.slice(0, 7)}-01`, to: last };
    },
  },
  "366d": { label: "Last 366 days", range: (today: string): Range => ({ from: addDays(today, -365), to: today }) },
};

export type Preset = keyof typeof presets;

/** Returns the granularities that suit the length of a range, and the default one. */
export function granularitiesOf(range: Range): { offered: Granularity[]; preferred: Granularity } {
  const days = daysIn(range.from, range.to);
  const offered: Granularity[] = days <= 7 ? ["hour", "day"] : days <= 31 ? ["day", "week"] : ["day", "week", "month"];
  return { offered, preferred: days === 1 ? "hour" : days <= 62 ? "day" : days <= 183 ? "week" : "month" };
}

/**
 * Returns the label of a bucket: a local hour for "hour", otherwise a calendar day, week or month. The short label of
 * an hour has the day only if `days` is set, for ranges of several days.
 */
export function bucketLabel(bucket: string, by: Granularity, locale: string, long: boolean, days = false): string {
  if (by === "hour") {
    const hour = bucket.slice(11, 16);
    return long || days ? `${bucketLabel(bucket.slice(0, 10), "day", locale, long)}, ${hour}` : hour;
  }
  const options: Intl.DateTimeFormatOptions =
    by === "month"
      ? { month: long ? "long" : "short", year: "numeric" }
      : long
        ? { dateStyle: "medium" }
        : { day: "numeric", month: "short" };
  return new Intl.DateTimeFormat(locale, { ...options, timeZone: "UTC" }).format(Date.parse(`${bucket}T00:00:00Z`));
}
