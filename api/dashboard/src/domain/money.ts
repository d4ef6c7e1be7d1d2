// Amounts are in minor units, such as cents.

import { decimals } from "./currencies";

/** Returns the number of decimals of a currency by ISO 4217, as the service has it. Those of browsers differ. */
export const decimalsOf = (currency: string) => decimals[currency] ?? 2;

/** Returns an amount in minor units as a number of units, for example for a spreadsheet. */
export const unitsOf = (minor: number, currency: string) => minor / 10 ** decimalsOf(currency);

/** Formats an amount in minor units for a locale. */
export function formatMoney(minor: number, currency: string, locale: string) {
  const digits = decimalsOf(currency);
  const fraction = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return new Intl.NumberFormat(locale, { style: "currency", currency, ...fraction }).format(unitsOf(minor, currency));
}

const decimalSign = (1.5).toLocaleString().includes(",") ? "," : ".";

/** Returns a number, as JavaScript writes it, with the decimal sign of the browser's locale. */
export const localDecimals = (number: string) => number.replace(".", decimalSign);

/** Formats an amount in minor units for a text field. parseMoney is its inverse. */
export const plainMoney = (minor: number, currency: string) =>
  localDecimals(unitsOf(minor, currency).toFixed(decimalsOf(currency)));

/** Parses an amount from a text field into minor units. Returns null if the text is not an amount. */
export function parseMoney(text: string, currency: string): number | null {
  const trimmed = text.trim().replace(/\s/g, "");
  const digits = decimalsOf(currency);
  const match = /^(\d{1,13})(?:[.,](\d+))?$/.exec(trimmed);
  if (!match || (match[2]?.length ?? 0) > digits) return null;
  return Number(match[1]! + (match[2] ?? "").padEnd(digits, "0"));
}
