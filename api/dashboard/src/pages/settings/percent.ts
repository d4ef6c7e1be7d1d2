import { localDecimals } from "@/ui/format";

/** Formats a rate in parts per million as a percentage for a text field. */
export const plainPercent = (ppm: number) => localDecimals(String(ppm / 10_000));

/** Parses a percentage from 0 to 100 with at most four decimals into parts per million; null if it is invalid. */
export function parsePercent(text: string): number | null {
  const match = /^(\d{1,3})(?:[.,](\d{1,4}))?$/.exec(text.replace(/[\s%]/g, ""));
  if (!match) return null;
  const ppm = Number(match[1]! + (match[2] ?? "").padEnd(4, "0"));
  return ppm <= 1_000_000 ? ppm : null;
}
