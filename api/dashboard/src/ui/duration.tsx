import { useEffect, useState } from "react";

/** A span of time in its two largest units, as "2 h 5 min"; what is less than a second is "0 s". */
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

/** How long something takes that is measured in milliseconds. */
export const formatMs = (ms: number | null | undefined) => (ms == null ? "–" : ms < 1000 ? `${ms}\u00a0ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)}\u00a0s`);

/** The time, every second. */
function useNow() {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** How long it is until a time. */
export function Countdown({ to }: { to: string }) {
  const left = Date.parse(to) - useNow();
  return <span className="whitespace-nowrap tabular-nums">{left > 0 ? `in ${formatDuration(left)}` : "any moment now"}</span>;
}
