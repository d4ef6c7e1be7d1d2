import { useCallback } from "react";

import { formatMoney } from "@/domain/money";
import { useAccount } from "@/session/account";

export function Money({ minor, currency }: { minor: number; currency: string }) {
  const { locale } = useAccount();
  return <span className="whitespace-nowrap tabular-nums">{formatMoney(minor, currency, locale)}</span>;
}

/** A time in the store's time zone (the browser's, if no store is active), with UTC in the tooltip. */
export function Time({ at, seconds }: { at: string | null | undefined; seconds?: boolean }) {
  const { locale, timezone } = useAccount();
  if (!at) return <span className="text-muted-foreground">never</span>;
  const date = new Date(at);
  const text = new Intl.DateTimeFormat(locale, {
    dateStyle: "medium",
    timeStyle: seconds ? "medium" : "short",
    timeZone: timezone,
  }).format(date);
  return (
    <time dateTime={at} title={`${at} (UTC)`} className="whitespace-nowrap tabular-nums">
      {text}
    </time>
  );
}

/**
 * Returns a function that formats the time of an instant in the store's time zone, with the day unless it is today.
 */
export function useClockTime() {
  const { locale, timezone } = useAccount();
  return useCallback(
    (at: string) => {
      const format = (options: Intl.DateTimeFormatOptions, date: Date | number) =>
        new Intl.DateTimeFormat(locale, { ...options, timeZone: timezone }).format(date);
      const date = new Date(at);
      const day = { day: "numeric", month: "numeric", year: "numeric" } as const;
      const time = { hour: "numeric", minute: "2-digit" } as const;
      const today = format(day, date) === format(day, Date.now());
      return format(today ? time : { ...time, weekday: "short", day: "numeric", month: "numeric" }, date);
    },
    [locale, timezone],
  );
}

/** The time of an instant in the store's time zone, with the day unless it is today. */
export function ClockTime({ at }: { at: string }) {
  const clock = useClockTime();
  return (
    <time dateTime={at} className="tabular-nums">
      {clock(at)}
    </time>
  );
}

/** The day and time of an instant in the store's time zone, without the year. */
export function ShortTime({ at }: { at: string }) {
  const { locale, timezone } = useAccount();
  const text = new Intl.DateTimeFormat(locale, {
    weekday: "short",
    day: "numeric",
    month: "numeric",
    hour: "numeric",
    minute: "2-digit",
    timeZone: timezone,
  }).format(new Date(at));
  return (
    <time dateTime={at} className="tabular-nums">
      {text}
    </time>
  );
}
