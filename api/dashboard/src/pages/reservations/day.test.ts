import { expect, test } from "vitest";

import { dayAfter, dayIn, instantIn, peakOf, seatsHeld } from "./day";

const at = (hour: string) => `2026-03-14T${hour}:00.000Z`;
const party = (from: string, to: string, partySize: number, status = "CONFIRMED") => ({ startAt: at(from), endAt: at(to), partySize, status }) as never;

test("seats are held by who is there, not by who leaves as others come", () => {
  const steps = seatsHeld([party("18:00", "20:00", 4), party("19:00", "21:00", 2, "PENDING"), party("20:00", "22:00", 4), party("19:00", "20:00", 9, "CANCELLED")]);
  expect(steps.map((step) => [new Date(step.at).toISOString().slice(11, 16), step.guests])).toEqual([
    ["18:00", 4],
    ["19:00", 6],
    ["21:00", 4],
    ["22:00", 0],
  ]);
  expect(peakOf(steps)).toBe(6);
  expect(peakOf(seatsHeld([]))).toBe(0);
});

test("days are the store's", () => {
  expect(dayIn("Pacific/Auckland", new Date(at("12:00")))).toBe("2026-03-15");
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
