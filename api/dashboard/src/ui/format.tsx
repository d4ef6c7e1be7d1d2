import { useSession } from "@/session/session";

const digits = (currency: string) => new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits ?? 2;

/** An amount of minor units as people of that locale write it. */
export function formatMoney(minor: number, currency: string, locale: string) {
  return new Intl.NumberFormat(locale, { style: "currency", currency }).format(minor / 10 ** digits(currency));
}

/** An amount of minor units as somebody would type it: what parseMoney reads. */
export const plainMoney = (minor: number, currency: string) => (minor / 10 ** digits(currency)).toFixed(digits(currency));

/** Reads what somebody typed as an amount: minor units, or null when it is none. */
export function parseMoney(text: string, currency: string): number | null {
  const trimmed = text.trim().replace(/\s/g, "");
  const decimals = digits(currency);
  const match = /^(\d{1,13})(?:[.,](\d+))?$/.exec(trimmed);
  if (!match || (match[2]?.length ?? 0) > decimals) return null;
  return Number(match[1]! + (match[2] ?? "").padEnd(decimals, "0"));
}

export function Money({ minor, currency }: { minor: number; currency: string }) {
  const { locale } = useSession();
  return <span className="whitespace-nowrap tabular-nums">{formatMoney(minor, currency, locale)}</span>;
}

/** A time in the store's zone; UTC when one points at it. */
export function Time({ at, seconds }: { at: string | null | undefined; seconds?: boolean }) {
  const { locale, timezone } = useSession();
  if (!at) return <span className="text-muted-foreground">never</span>;
  const date = new Date(at);
  const text = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: seconds ? "medium" : "short", timeZone: timezone }).format(date);
  return (
    <time dateTime={at} title={`${at} (UTC)`} className="whitespace-nowrap tabular-nums">
      {text}
    </time>
  );
}
