import { useCallback } from "react";

import { useAccount } from "@/session/account";

/** The number of decimal places of a currency. */
export const decimalsOf = (currency: string) =>
  new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits ?? 2;

/** Returns an amount in minor units as a number of units, for example for a spreadsheet. */
export const unitsOf = (minor: number, currency: string) => minor / 10 ** decimalsOf(currency);

/** Formats an amount in minor units for a locale. */
export function formatMoney(minor: number, currency: string, locale: string) {
  return new Intl.NumberFormat(locale, { style: "currency", currency }).format(unitsOf(minor, currency));
}

/** Formats a rate in parts per million, for example "19 %". */
export const formatRate = (ppm: number, locale: string) =>
  new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 4 }).format(ppm / 1_000_000);

const decimalSign = (1.5).toLocaleString().includes(",") ? "," : ".";

/** Returns a number, as JavaScript writes it, with the decimal sign of the browser's locale. */
export const localDecimals = (number: string) => number.replace(".", decimalSign);

/** Formats an amount in minor units for a text field. parseMoney is its inverse. */
export const plainMoney = (minor: number, currency: string) =>
  localDecimals(unitsOf(minor, currency).toFixed(decimalsOf(currency)));

/** Parses an amount from a text field into minor units. Returns null if the text is not an amount. */
export function parseMoney(text: string, currency: string): number | null {
  const trimmed = text.trim().replace(/\s/g, "");
  const decimals = decimalsOf(currency);
  const match = /^(\d{1,13})(?:[.,](\d+))?$/.exec(trimmed);
  if (!match || (match[2]?.length ?? 0) > decimals) return null;
  return Number(match[1]! + (match[2] ?? "").padEnd(decimals, "0"));
}

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
