import { localDecimals } from "./money";

// Rates are in parts per million.

/** Formats a rate for a locale, for example "19 %". */
export const formatRate = (ppm: number, locale: string) =>
  new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 4 }).format(ppm / 1_000_000);

/** Formats a rate as a percentage for a text field. parsePercent is its inverse. */
export const plainPercent = (ppm: number) => localDecimals(String(ppm / 10_000));

/** Parses a percentage from 0 to 100 with at most four decimals into parts per million; null if it is invalid. */
export function parsePercent(text: string): number | null {
  const match = /^(\d{1,3})(?:[.,](\d{1,4}))?$/.exec(text.replace(/[\s%]/g, ""));
  if (!match) return null;
  const ppm = Number(match[1]! + (match[2] ?? "").padEnd(4, "0"));
  return ppm <= 1_000_000 ? ppm : null;
}
