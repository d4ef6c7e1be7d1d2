import { localDecimals } from "@/domain/money";

import { useNow } from "./now";

/** Formats a duration in milliseconds with its two largest units, for example "2 h 5 min"; "0 s" below a second. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const parts = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  if (first < 0) return "0 s";
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(" ");
}

/** Formats a response time in milliseconds, for example "12 ms" or "1.20 s"; "–" for null. */
export function formatMs(ms: number | null | undefined) {
  if (ms == null) return "–";
  if (ms < 1000) return `${ms}\u00a0ms`;
  return `${localDecimals((ms / 1000).toFixed(ms < 10_000 ? 2 : 1))}\u00a0s`;
}

/** The remaining time until an instant. */
export function Countdown({ to }: { to: string }) {
  const left = Date.parse(to) - useNow(1_000);
  return <span className="whitespace-nowrap tabular-nums">{left > 0 ? `in ${formatDuration(left)}` : "now"}</span>;
}
