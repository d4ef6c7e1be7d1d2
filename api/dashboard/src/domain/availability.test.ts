import { expect, test } from "vitest";

import { endOfBusinessDay, instantOfLocal, localOf, availabilityOf } from "./availability";

const at = (text: string) => Date.parse(text);

test.each([
  ["before the cutoff it is still yesterday", "2026-03-10T02:30:00+01:00", 4, "2026-03-10T03:00:00.000Z"],
  ["after the cutoff", "2026-03-10T04:00:00+01:00", 4, "2026-03-11T03:00:00.000Z"],
  ["in the evening", "2026-03-10T23:59:00+01:00", 4, "2026-03-11T03:00:00.000Z"],
  ["at midnight without a cutoff", "2026-03-10T00:00:00+01:00", 0, "2026-03-10T23:00:00.000Z"],
  ["with a cutoff in the hour that the spring skips", "2026-03-28T20:00:00+01:00", 2, "2026-03-29T01:00:00.000Z"],
  ["across the end of summer time", "2026-10-24T20:00:00+02:00", 4, "2026-10-25T03:00:00.000Z"],
])("the business day ends: %s", (_, now, cutoff, end) => {
  expect(endOfBusinessDay(at(now), "Europe/Berlin", cutoff)).toBe(end);
});

test("a local time is converted in both directions", () => {
  expect(instantOfLocal("2026-07-01T18:30", "Europe/Berlin")).toBe("2026-07-01T16:30:00.000Z");
  expect(instantOfLocal("", "Europe/Berlin")).toBeUndefined();
  expect(localOf(at("2026-07-01T16:30:59Z"), "Europe/Berlin")).toBe("2026-07-01T18:30");
});

test("a product is unavailable, sold out or out of stock", () => {
  const now = at("2026-03-10T12:00:00Z");
  const later = "2026-03-10T12:00:01.000Z";
  expect(availabilityOf({ isAvailable: true }, now)).toBe("available");
  expect(availabilityOf({ isAvailable: false, soldOutUntil: later, stockQuantity: 0 }, now)).toBe("unavailable");
  expect(availabilityOf({ isAvailable: true, soldOutUntil: later, stockQuantity: 0 }, now)).toBe("soldOut");
  expect(availabilityOf({ isAvailable: true, soldOutUntil: later }, at(later))).toBe("available");
  expect(availabilityOf({ isAvailable: true, stockQuantity: 0 }, now)).toBe("outOfStock");
});
