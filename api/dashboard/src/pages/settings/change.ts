import type { components } from "@comanda/client";

import { AcceptanceRequest, ChangeSettingsRequest, LoyaltySettingsRequest, PrepMinutesRequest } from "@/api/limits";
import { localDecimals, parseMoney, plainMoney } from "@/domain/money";
import { type Day, type Span, days, shown, stored, weekErrors } from "@/domain/opening-hours";
import { type FulfillmentType, fulfillmentTypes } from "@/domain/orders";
import { parsePercent, plainPercent } from "@/domain/percent";

export type Settings = components["schemas"]["Settings"];
export type Change = components["schemas"]["ChangeSettingsRequest"];
export type Closure = components["schemas"]["ClosureRequest"];

/** The bounds of the form's whole numbers, by field. */
export const numbers: Record<string, { min: number; max: number }> = {
  businessDayCutoffHour: ChangeSettingsRequest.businessDayCutoffHour,
  seats: ChangeSettingsRequest.seats,
  reservationMinutes: ChangeSettingsRequest.reservationMinutes,
  bookingLeadMinutes: ChangeSettingsRequest.bookingLeadMinutes,
  bookingMaxDays: ChangeSettingsRequest.bookingMaxDays,
  orderLeadMinutes: ChangeSettingsRequest.orderLeadMinutes,
  orderMaxDays: ChangeSettingsRequest.orderMaxDays,
  ...Object.fromEntries(fulfillmentTypes.map((type) => [`prepMinutes.${type}`, PrepMinutesRequest[type]])),
  "loyalty.minPoints": LoyaltySettingsRequest.minPoints,
  "acceptance.remindAfterMinutes": AcceptanceRequest.remindAfterMinutes,
  "acceptance.cancelAfterMinutes": AcceptanceRequest.cancelAfterMinutes,
};

/** The operations that a store can grant to STAFF. */
export const staffRights = ["SELL_OUT", "FIND_CUSTOMERS"] as const satisfies components["schemas"]["StaffRight"][];

type Value = string | boolean | Span[] | Closure[];

/** The state of the form by field: the member of the request, as a path. Numbers, rates and amounts are texts. */
export type Fields = Readonly<Record<string, Value>>;

export const hoursField = (type: FulfillmentType, day: Day) => `openingHours.${type}.${day}`;

export const text = (fields: Fields, name: string) => fields[name] as string;
export const spansOf = (fields: Fields, type: FulfillmentType, day: Day) => fields[hoursField(type, day)] as Span[];
export const closuresOf = (fields: Fields) => fields.closures as Closure[];

/** The fields with the worth of a loyalty point begin with it and end with the currency. */
export const pointWorth = "loyalty.minorPerPoint.";

const member = (settings: Settings, path: string): unknown =>
  path.split(".").reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], settings);

/** Returns the fields of settings, with a delivery fee for each of the currencies. */
export function fieldsOf(settings: Settings, currencies: string[]): Fields {
  const fields: Record<string, Value> = {
    timezone: settings.timezone,
    taxRatePpm: plainPercent(settings.taxRatePpm),
    taxIncluded: settings.taxIncluded,
    taxDeliveryFee: settings.taxDeliveryFee,
    requireOtp: settings.requireOtp,
    closures: settings.closures,
    lowerTotals: settings.lowerTotals === "STAFF",
  };
  for (const right of staffRights) fields[`staffMay.${right}`] = settings.staffMay.includes(right);
  for (const name of Object.keys(numbers)) fields[name] = String(member(settings, name));
  for (const currency of currencies) {
    const fee = settings.deliveryFees[currency];
    fields[`deliveryFees.${currency}`] = fee === undefined ? "" : plainMoney(fee, currency);
    const worth = settings.loyalty.minorPerPoint[currency];
    fields[`${pointWorth}${currency}`] = worth === undefined ? "" : plainMoney(worth, currency);
  }
  for (const type of fulfillmentTypes)
    for (const day of days) fields[hoursField(type, day)] = (settings.openingHours?.[type]?.[day] ?? []).map(shown);
  return fields;
}

const same = (a: Value | undefined, b: Value | undefined) => JSON.stringify(a) === JSON.stringify(b);

/** Returns the names of the fields that differ. */
export const changedFields = (before: Fields, after: Fields) =>
  Object.keys(after).filter((name) => !same(before[name], after[name]));

/**
 * Moves the user's changes of `before` to settings that somebody else has changed meanwhile. A field that both have
 * changed differently keeps the user's value and is listed in `conflicts`.
 */
export function rebase(before: Fields, mine: Fields, theirs: Fields) {
  const changed = changedFields(before, mine).filter((name) => name in theirs);
  return {
    fields: { ...theirs, ...Object.fromEntries(changed.map((name) => [name, mine[name]!])) } as Fields,
    conflicts: changed.filter((name) => !same(before[name], theirs[name]) && !same(mine[name], theirs[name])),
  };
}

/** Returns the merge patch from the fields `before` to `after`, and the error of each invalid field. */
export function changeOf(before: Fields, after: Fields, locale: string) {
  const change: Change = {};
  const errors: Record<string, string> = {};
  const changed = new Set(changedFields(before, after));
  const set = (path: string, value: unknown) => {
    const [name, inner] = path.split(".") as [string, string | undefined];
    const members = change as Record<string, unknown>;
    if (inner === undefined) members[name] = value;
    else members[name] = { ...(members[name] as object | undefined), [inner]: value };
  };

  for (const name of ["timezone", "taxIncluded", "taxDeliveryFee", "requireOtp"])
    if (changed.has(name)) set(name, typeof after[name] === "string" ? after[name].trim() : after[name]);
  if (changed.has("lowerTotals")) change.lowerTotals = after.lowerTotals ? "STAFF" : "MANAGER";
  if (staffRights.some((right) => changed.has(`staffMay.${right}`)))
    change.staffMay = staffRights.filter((right) => after[`staffMay.${right}`]);
  for (const [name, { min, max }] of Object.entries(numbers)) {
    const entered = text(after, name).trim();
    const value = Number(entered);
    if (entered === "" || !Number.isInteger(value) || value < min || value > max)
      errors[name] = `must be a whole number from ${min} to ${max}`;
    else if (changed.has(name)) set(name, value);
  }
  const remind = Number(text(after, "acceptance.remindAfterMinutes"));
  const cancel = Number(text(after, "acceptance.cancelAfterMinutes"));
  if (cancel !== 0 && cancel <= remind)
    errors["acceptance.cancelAfterMinutes"] ??=
      `must be more than the ${remind} minutes of the reminder, or 0 for no cancellation`;
  const rate = parsePercent(text(after, "taxRatePpm"));
  if (rate === null) errors.taxRatePpm = "must be a percentage from 0 to 100 with at most four decimals";
  else if (changed.has("taxRatePpm")) change.taxRatePpm = rate;
  for (const name of Object.keys(after).filter((one) => one.startsWith("deliveryFees."))) {
    const currency = name.slice("deliveryFees.".length);
    const entered = text(after, name).trim();
    const fee = entered === "" ? null : parseMoney(entered, currency);
    if (entered !== "" && fee === null) errors[name] = `must be an amount, such as ${localDecimals("2.50")}`;
    else if (changed.has(name)) set(name, fee);
  }
  for (const name of Object.keys(after).filter((one) => one.startsWith(pointWorth))) {
    const currency = name.slice(pointWorth.length);
    const entered = text(after, name).trim();
    const worth = entered === "" ? null : parseMoney(entered, currency);
    if (entered !== "" && !worth) errors[name] = `must be an amount above 0, such as ${localDecimals("0.01")}`;
    else if (changed.has(name))
      change.loyalty = {
        ...change.loyalty,
        minorPerPoint: { ...change.loyalty?.minorPerPoint, [currency]: worth },
      };
  }
  hoursOf(after, changed, change, errors, locale);
  closuresChange(after, changed, change, errors);
  return { change, errors };
}

function hoursOf(after: Fields, changed: Set<string>, change: Change, errors: Record<string, string>, locale: string) {
  for (const type of fulfillmentTypes) {
    const week = Object.fromEntries(days.map((day) => [day, spansOf(after, type, day)])) as Record<Day, Span[]>;
    for (const [day, error] of Object.entries(weekErrors(week, locale))) errors[hoursField(type, day as Day)] = error;
    const edited = days.filter((day) => changed.has(hoursField(type, day)));
    if (edited.length === 0) continue;
    const always = days.every((day) => week[day].length === 0);
    const patch = Object.fromEntries(edited.map((day) => [day, week[day].length > 0 ? week[day].map(stored) : null]));
    change.openingHours = { ...change.openingHours, [type]: always ? null : patch };
  }
}

function closuresChange(after: Fields, changed: Set<string>, change: Change, errors: Record<string, string>) {
  const closures = closuresOf(after);
  closures.forEach(({ from, to }, i) => {
    if (from === "" || to === "") errors[`closures[${i}]`] = "Enter the first and the last day.";
    else if (to < from) errors[`closures[${i}]`] = "The last day is before the first day.";
  });
  if (!changed.has("closures")) return;
  change.closures = closures.map(({ from, to, reason, types }) => ({
    from,
    to,
    ...(reason?.trim() ? { reason: reason.trim() } : {}),
    ...(types && types.length > 0 ? { types } : {}),
  }));
}
