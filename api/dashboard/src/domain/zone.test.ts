import { describe, expect, it } from "vitest";

import { addDays, businessDay, dayOf, daysIn, instantOf, startOfDay, timeOf } from "./zone";

describe("days", () => {
  it("are counted across clock changes and years", () => {
    expect(addDays("2026-03-28", 2)).toBe("2026-03-30");
    expect(addDays("2026-01-01", -1)).toBe("2025-12-31");
    expect(daysIn("2026-03-28", "2026-03-30")).toBe(3);
    expect(daysIn("2024-01-01", "2024-12-31")).toBe(366);
  });

  it("end at the cutoff hour in the store's time zone", () => {
    expect(businessDay(Date.parse("2026-03-14T02:59:59Z"), "Europe/Berlin", 4)).toBe("2026-03-13");
    expect(businessDay(Date.parse("2026-03-14T03:00:00Z"), "Europe/Berlin", 4)).toBe("2026-03-14");
    expect(businessDay(Date.parse("2026-03-14T00:30:00Z"), "America/New_York", 0)).toBe("2026-03-13");
    expect(businessDay(Date.parse("2026-03-14T00:00:00Z"), "UTC", 0)).toBe("2026-03-14");
  });

  it("are those of the store's time zone", () =>
    expect(dayOf(Date.parse("2026-03-14T12:00:00Z"), "Pacific/Auckland")).toBe("2026-03-15"));

  it.each([
    ["2026-03-14", "Europe/Berlin", "2026-03-13T23:00:00.000Z"],
    ["2026-03-30", "Europe/Berlin", "2026-03-29T22:00:00.000Z"],
    ["2026-10-25", "Europe/Berlin", "2026-10-24T22:00:00.000Z"],
    ["2026-03-14", "UTC", "2026-03-14T00:00:00.000Z"],
    ["2026-03-14", "Pacific/Kiritimati", "2026-03-13T10:00:00.000Z"],
    ["2026-03-14", "Pacific/Pago_Pago", "2026-03-14T11:00:00.000Z"],
    ["2018-11-04", "America/Sao_Paulo", "2018-11-04T03:00:00.000Z"], // its first hour is skipped
  ])("%s in %s starts at %s", (day, zone, start) => expect(startOfDay(day, zone)).toBe(start));
});

it.each([
  ["Europe/Berlin", "2026-03-14", "19:30", "2026-03-14T18:30:00.000Z"],
  ["Europe/Berlin", "2026-07-14", "19:30", "2026-07-14T17:30:00.000Z"],
  ["America/New_York", "2026-03-08", "12:00", "2026-03-08T16:00:00.000Z"],
  ["Europe/Berlin", "2026-10-25", "02:30", "2026-10-25T00:30:00.000Z"], // occurs twice
  ["Europe/Berlin", "2026-03-29", "02:30", "2026-03-29T01:30:00.000Z"], // is skipped and becomes 03:30
])("in %s, %s %s is the instant %s", (zone, day, time, instant) => expect(instantOf(day, time, zone)).toBe(instant));

describe("times", () => {
  it("are those of the store's time zone, in full minutes", () => {
    expect(timeOf(Date.parse("2026-03-14T23:05:59Z"), "Europe/Berlin")).toBe("00:05");
    expect(timeOf(Date.parse("2026-07-14T10:30:00Z"), "America/New_York")).toBe("06:30");
  });
});
