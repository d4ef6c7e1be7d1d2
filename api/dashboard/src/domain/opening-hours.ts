import type { components } from "@comanda/client";

export type Span = components["schemas"]["SpanRequest"];
export type Day = (typeof days)[number];

/** The days of a week as in the API, from Monday. */
export const days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;

/** Returns the name of a weekday in a locale. */
export const dayName = (day: Day, locale: string, weekday: "long" | "short" = "long") =>
  new Intl.DateTimeFormat(locale, { weekday, timeZone: "UTC" }).format(Date.UTC(2024, 0, 1 + days.indexOf(day)));

/**
 * Returns a span with the end of the day as 00:00, which a time field can show. An end that is not after the start is
 * on the next day, so both mean the same.
 */
export const shown = ({ from, to }: Span): Span => ({ from, to: to === "24:00" ? "00:00" : to });

/** Returns a span as the API stores it: the end of the day is 24:00. */
export const stored = ({ from, to }: Span): Span => ({ from, to: to === "00:00" ? "24:00" : to });

const minutes = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
const dayMinutes = 24 * 60;

/** Describes the end of a span that is not on its own day, and a full day. */
export function endOf({ from, to }: Span): string | undefined {
  if (from === "" || to === "") return undefined;
  if (from === "00:00" && to === "00:00") return "24 hours";
  if (to === "00:00") return "midnight";
  return minutes(to) <= minutes(from) ? "next day" : undefined;
}

/** Returns the error of each day of a week: a missing time, or spans that overlap. Names are those of the locale. */
export function weekErrors(week: Record<Day, Span[]>, locale: string): Partial<Record<Day, string>> {
  const errors: Partial<Record<Day, string>> = {};
  const placed: { from: number; to: number; day: Day; text: string }[] = [];
  days.forEach((day, n) => {
    for (const { from, to } of week[day]) {
      if (from === "" || to === "") {
        errors[day] = "Enter both times.";
        continue;
      }
      const start = minutes(from);
      const end = minutes(to) + (minutes(to) <= start ? dayMinutes : 0);
      const text = `${dayName(day, locale)} ${from}–${to}`;
      placed.push({ from: n * dayMinutes + start, to: n * dayMinutes + end, day, text });
    }
  });
  placed.sort((a, b) => a.from - b.from);
  if (placed.length === 0) return errors;
  // Sunday night is followed by Monday.
  const next = { ...placed[0]!, from: placed[0]!.from + 7 * dayMinutes };
  [...placed, next].forEach((span, i, all) => {
    const before = all[i - 1];
    if (before && before.to > span.from && !(placed.length === 1)) errors[span.day] ??= `Overlaps ${before.text}.`;
  });
  return errors;
}
