import { describe, expect, it } from "vitest";

import { type Fields, type Settings, changeOf, fieldsOf, rebase } from "./change";

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
  openingHours: { PICKUP: { mon: [{ from: "11:00", to: "24:00" }], fri: [{ from: "18:00", to: "02:00" }] } },
  closures: [{ from: "2026-12-24", to: "2026-12-26", reason: "Christmas" }],
  prepMinutes: { DELIVERY: 20, PICKUP: 20, DINE_IN: 20 },
  orderLeadMinutes: 0,
  orderMaxDays: 14,
  acceptance: { remindAfterMinutes: 0, cancelAfterMinutes: 0 },
  requireOtp: false,
  lowerTotals: "STAFF",
  staffMay: ["FIND_CUSTOMERS"],
  loyalty: { minorPerPoint: { EUR: 2 }, minPoints: 50 },
  version: 7,
};

const before = fieldsOf(settings, ["EUR", "JPY", "USD"]);
const of = (changes: Fields = {}) => changeOf(before, { ...before, ...changes }, "en");

describe("a change of settings", () => {
  it("is empty if nothing was changed", () => expect(of()).toEqual({ change: {}, errors: {} }));

  it("has only the changed members", () => {
    expect(of({ timezone: "UTC", seats: "41", taxRatePpm: "7", taxIncluded: false, requireOtp: true })).toEqual({
      change: { timezone: "UTC", seats: 41, taxRatePpm: 70_000, taxIncluded: false, requireOtp: true },
      errors: {},
    });
  });

  it("has all rights of STAFF if one of them changes", () => {
    expect(of({ "staffMay.SELL_OUT": true, lowerTotals: false }).change).toEqual({
      staffMay: ["SELL_OUT", "FIND_CUSTOMERS"],
      lowerTotals: "MANAGER",
    });
    expect(of({ "staffMay.FIND_CUSTOMERS": false }).change).toEqual({ staffMay: [] });
  });

  it("has the worth of points and their least number", () => {
    expect(
      of({ "loyalty.minorPerPoint.EUR": "", "loyalty.minorPerPoint.USD": "0.03", "loyalty.minPoints": "10" }),
    ).toEqual({ change: { loyalty: { minPoints: 10, minorPerPoint: { EUR: null, USD: 3 } } }, errors: {} });
    expect(Object.keys(of({ "loyalty.minorPerPoint.EUR": "0" }).errors)).toEqual(["loyalty.minorPerPoint.EUR"]);
  });

  it("removes cleared fees and sets entered ones", () => {
    expect(of({ "deliveryFees.EUR": "", "deliveryFees.JPY": "0", "deliveryFees.USD": "3,1" }).change).toEqual({
      deliveryFees: { EUR: null, JPY: 0, USD: 310 },
    });
  });

  it("has the changed preparation times and deadlines", () => {
    expect(
      of({
        "prepMinutes.PICKUP": "15",
        "acceptance.remindAfterMinutes": "3",
        "acceptance.cancelAfterMinutes": "10",
        orderMaxDays: "0",
      }),
    ).toEqual({
      change: {
        prepMinutes: { PICKUP: 15 },
        acceptance: { remindAfterMinutes: 3, cancelAfterMinutes: 10 },
        orderMaxDays: 0,
      },
      errors: {},
    });
  });

  it.each([
    ["5", "5", true],
    ["5", "4", true],
    ["5", "6", false],
    ["5", "0", false],
    ["0", "1", false],
  ])("reminds after %s and cancels after %s minutes: refused %s", (remind, cancel, refused) => {
    const { errors } = of({ "acceptance.remindAfterMinutes": remind, "acceptance.cancelAfterMinutes": cancel });
    expect("acceptance.cancelAfterMinutes" in errors).toBe(refused);
  });

  it("names each invalid field", () => {
    expect(
      Object.keys(
        of({
          "deliveryFees.JPY": "1.5",
          seats: "-1",
          taxRatePpm: "101",
          bookingMaxDays: "",
          businessDayCutoffHour: "24",
          "prepMinutes.DELIVERY": "1441",
          closures: [{ from: "2026-12-26", to: "2026-12-24" }],
        }).errors,
      ).sort(),
    ).toEqual([
      "bookingMaxDays",
      "businessDayCutoffHour",
      "closures[0]",
      "deliveryFees.JPY",
      "prepMinutes.DELIVERY",
      "seats",
      "taxRatePpm",
    ]);
  });
});

describe("a change of opening hours", () => {
  it("has the changed days, and ends a day with 24:00", () => {
    const spans = [
      { from: "11:00", to: "14:30" },
      { from: "18:00", to: "00:00" },
    ];
    expect(of({ "openingHours.PICKUP.tue": spans, "openingHours.PICKUP.fri": [] }).change).toEqual({
      openingHours: {
        PICKUP: {
          tue: [
            { from: "11:00", to: "14:30" },
            { from: "18:00", to: "24:00" },
          ],
          fri: null,
        },
      },
    });
  });

  it("removes the hours of a type without spans", () => {
    expect(of({ "openingHours.PICKUP.mon": [], "openingHours.PICKUP.fri": [] }).change).toEqual({
      openingHours: { PICKUP: null },
    });
  });

  it("replaces all closures", () => {
    const closures = [{ from: "2027-01-01", to: "2027-01-01", reason: " ", types: ["PICKUP" as const] }];
    expect(of({ closures }).change).toEqual({
      closures: [{ from: "2027-01-01", to: "2027-01-01", types: ["PICKUP"] }],
    });
  });
});

describe("a rebase", () => {
  const theirs = { ...before, seats: "50", "deliveryFees.EUR": "3.00" };

  it("keeps the changes of both", () =>
    expect(rebase(before, { ...before, orderMaxDays: "7" }, theirs)).toEqual({
      fields: { ...theirs, orderMaxDays: "7" },
      conflicts: [],
    }));

  it("keeps the user's value of a field that both have changed, and lists it", () =>
    expect(rebase(before, { ...before, seats: "60", "deliveryFees.EUR": "3.00" }, theirs)).toEqual({
      fields: { ...theirs, seats: "60" },
      conflicts: ["seats"],
    }));
});
