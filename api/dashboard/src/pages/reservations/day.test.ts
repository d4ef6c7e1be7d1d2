import { expect, test } from "vitest";

import { dayAfter, dayIn, instantIn } from "./day";

test("days are the store's", () => {
  expect(dayIn("Pacific/Auckland", new Date("2026-03-14T12:00:00Z"))).toBe("2026-03-15");
  expect(dayAfter("2026-02-28", 1)).toBe("2026-03-01");
  expect(dayAfter("2026-03-01", -1)).toBe("2026-02-28");
});

test.each([
  ["Europe/Berlin", "2026-03-14", "19:30", "2026-03-14T18:30:00.000Z"],
  ["Europe/Berlin", "2026-07-14", "19:30", "2026-07-14T17:30:00.000Z"],
  ["America/New_York", "2026-03-08", "12:00", "2026-03-08T16:00:00.000Z"],
  ["Europe/Berlin", "2026-10-25", "02:30", "2026-10-25T00:30:00.000Z"], // comes twice
  ["Europe/Berlin", "2026-03-29", "02:30", "2026-03-29T01:30:00.000Z"], // is left out: 03:30
])("in %s it is %s %s at %s", (zone, day, time, instant) => {
  expect(instantIn(zone, day, time).toISOString()).toBe(instant);
});
