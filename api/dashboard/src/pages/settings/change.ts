import type { components } from "@/api/schema";
import { parseMoney } from "@/ui/format";

import { parsePercent } from "./percent";

export type Settings = components["schemas"]["Settings"];
export type Change = components["schemas"]["ChangeSettingsRequest"];

/** The numbers of the form that are typed as they are, with the bounds of the API. */
export const numbers = {
  businessDayCutoffHour: { min: 0, max: 23 },
  seats: { min: 0, max: 100_000 },
  reservationMinutes: { min: 15, max: 1440 },
  bookingLeadMinutes: { min: 0, max: 43_200 },
  bookingMaxDays: { min: 1, max: 730 },
} as const;

/** What of the form differs from the settings as they are, and what of it makes no sense, by member. */
export function changeOf(settings: Settings, form: FormData, currencies: string[]) {
  const change: Change = {};
  const faults: Record<string, string> = {};
  const text = (name: string) => String(form.get(name) ?? "").trim();

  if (text("timezone") !== settings.timezone) change.timezone = text("timezone");
  for (const name of Object.keys(numbers) as (keyof typeof numbers)[]) {
    const { min, max } = numbers[name];
    const value = Number(text(name));
    if (text(name) === "" || !Number.isInteger(value) || value < min || value > max) faults[name] = `must be a whole number from ${min} to ${max}`;
    else if (value !== settings[name]) change[name] = value;
  }
  for (const name of ["taxIncluded", "taxDeliveryFee"] as const) {
    const value = form.get(name) === "on";
    if (value !== settings[name]) change[name] = value;
  }
  const rate = parsePercent(text("taxRatePpm"));
  if (rate === null) faults.taxRatePpm = "must be a percentage from 0 to 100 with at most four decimals";
  else if (rate !== settings.taxRatePpm) change.taxRatePpm = rate;

  const fees: Record<string, number | null> = {};
  for (const currency of currencies) {
    const name = `deliveryFees.${currency}`;
    const before = settings.deliveryFees[currency];
    if (text(name) === "") {
      if (before !== undefined) fees[currency] = null;
      continue;
    }
    const fee = parseMoney(text(name), currency);
    if (fee === null) faults[name] = "must be an amount of this currency";
    else if (fee !== before) fees[currency] = fee;
  }
  if (Object.keys(fees).length > 0) change.deliveryFees = fees as Change["deliveryFees"];
  return { change, faults };
}
