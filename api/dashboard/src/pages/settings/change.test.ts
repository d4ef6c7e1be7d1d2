import { describe, expect, it } from "vitest";

import { type Settings, changeOf } from "./change";

const settings: Settings = {
  timezone: "Europe/Berlin",
  businessDayCutoffHour: 4,
  taxRatePpm: 190_000,
  taxIncluded: true,
  taxDeliveryFee: true,
  deliveryFees: { EUR: 250, JPY: 500 },
  seats: 40,
  reservationMinutes: 120,
  bookingLeadMinutes: 60,
  bookingMaxDays: 90,
  version: 7,
};

function form(changes: Record<string, string | null> = {}) {
  const form = new FormData();
  const shown = {
    timezone: "Europe/Berlin",
    businessDayCutoffHour: "4",
    taxRatePpm: "19",
    taxIncluded: "on",
    taxDeliveryFee: "on",
    "deliveryFees.EUR": "2.50",
    "deliveryFees.JPY": "500",
    "deliveryFees.USD": "",
    seats: "40",
    reservationMinutes: "120",
    bookingLeadMinutes: "60",
    bookingMaxDays: "90",
    ...changes,
  };
  for (const [name, value] of Object.entries(shown)) if (value !== null) form.set(name, value);
  return form;
}

const of = (changes?: Record<string, string | null>) => changeOf(settings, form(changes), ["EUR", "JPY", "USD"]);

describe("a change of settings", () => {
  it("is empty when nothing was changed", () => expect(of()).toEqual({ change: {}, faults: {} }));

  it("has what differs and nothing else", () => {
    expect(of({ timezone: "UTC", seats: "41", taxRatePpm: "7", taxIncluded: null })).toEqual({
      change: { timezone: "UTC", seats: 41, taxRatePpm: 70_000, taxIncluded: false },
      faults: {},
    });
  });

  it("takes out the fee that was emptied, and sets those that were typed", () => {
    expect(of({ "deliveryFees.EUR": "", "deliveryFees.JPY": "0", "deliveryFees.USD": "3,1" }).change).toEqual({ deliveryFees: { EUR: null, JPY: 0, USD: 310 } });
  });

  it("says what makes no sense", () => {
    expect(Object.keys(of({ "deliveryFees.JPY": "1.5", seats: "-1", taxRatePpm: "101", bookingMaxDays: "", businessDayCutoffHour: "24" }).faults).sort()).toEqual([
      "bookingMaxDays",
      "businessDayCutoffHour",
      "deliveryFees.JPY",
      "seats",
      "taxRatePpm",
    ]);
  });
});
