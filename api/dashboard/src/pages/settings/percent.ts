/** A rate in parts per million as a percentage, as somebody would type it. */
export const plainPercent = (ppm: number) => String(ppm / 10_000);

/** Reads a percentage of at most four decimals: parts per million, or null when it is none from 0 to 100. */
export function parsePercent(text: string): number | null {
  const match = /^(\d{1,3})(?:[.,](\d{1,4}))?$/.exec(text.replace(/[\s%]/g, ""));
  if (!match) return null;
  const ppm = Number(match[1]! + (match[2] ?? "").padEnd(4, "0"));
  return ppm <= 1_000_000 ? ppm : null;
}
