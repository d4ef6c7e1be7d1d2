import { describe, expect, it } from "vitest";

import { addDays, businessDay, daysIn, startOfDay } from "./zone";

describe("days", () => {
  it("are counted over the change of clocks and of years", () => {
    expect(addDays("2026-03-28", 2)).toBe("2026-03-30");
    expect(addDays("2026-01-01", -1)).toBe("2025-12-31");
    expect(daysIn("2026-03-28", "2026-03-30")).toBe(3);
    expect(daysIn("2024-01-01", "2024-12-31")).toBe(366);
  });

  it("end at the cutoff hour of the store's clock", () => {
    expect(businessDay(Date.parse("2026-03-14T02:59:59Z"), "Europe/Berlin", 4)).toBe("2026-03-13");
    expect(businessDay(Date.parse("2026-03-14T03:00:00Z"), "Europe/Berlin", 4)).toBe("2026-03-14");
    expect(businessDay(Date.parse("2026-03-14T00:30:00Z"), "America/New_York", 0)).toBe("2026-03-13");
    expect(businessDay(Date.parse("2026-03-14T00:00:00Z"), "UTC", 0)).toBe("2026-03-14");
  });

  it.each([
    ["2026-03-14", "Europe/Berlin", "2026-03-13T23:00:00.000Z"],
    ["2026-03-30", "Europe/Berlin", "2026-03-29T22:00:00.000Z"],
    ["2026-10-25", "Europe/Berlin", "2026-10-24T22:00:00.000Z"],
    ["2026-03-14", "UTC", "2026-03-14T00:00:00.000Z"],
    ["2026-03-14", "Pacific/Kiritimati", "2026-03-13T10:00:00.000Z"],
    ["2026-03-14", "Pacific/Pago_Pago", "2026-03-14T11:00:00.000Z"],
    ["2018-11-04", "America/Sao_Paulo", "2018-11-04T03:00:00.000Z"], // its first hour is missing
  ])("%s in %s begins at %s", (day, zone, start) => expect(startOfDay(day, zone)).toBe(start));
});
