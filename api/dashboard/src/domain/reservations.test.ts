import { expect, test } from "vitest";

import { closestTimes, extendsBeyond } from "./reservations";

test.each([
  ["2026-03-20T22:30:00Z", "2026-03-21T00:30:00Z", "2026-03-20", false, true], // 23:30 to 01:30 in Berlin
  ["2026-03-20T22:30:00Z", "2026-03-21T00:30:00Z", "2026-03-21", true, false],
  ["2026-03-20T21:00:00Z", "2026-03-20T23:00:00Z", "2026-03-20", false, false], // ends at midnight
  ["2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", "2026-03-29", false, false], // a full day of 23 hours
])("%s to %s on %s", (startAt, endAt, day, before, after) =>
  expect(extendsBeyond({ startAt, endAt, timezone: "Europe/Berlin" }, day)).toEqual({ before, after }),
);

test.each([
  ["18:00", 3, ["17:00", "17:45", "18:00"]],
  ["21:00", 2, ["19:30", "19:45"]],
  ["00:00", 1, ["17:00"]],
  ["18:00", 9, ["17:00", "17:45", "18:00", "19:15", "19:30", "19:45"]],
])("the free times closest to %s, at most %d", (time, count, times) => {
  const slots = ["16:00", "16:45", "17:00", "18:15", "18:30", "18:45"]; // in UTC
  const free = slots.map((clock) => ({ startAt: `2026-03-20T${clock}:00.000Z` }));
  expect(closestTimes(free, time, "Europe/Berlin", count)).toEqual(times);
});

test("an hour that occurs twice is offered once", () => {
  const free = ["00:00", "00:30", "01:00", "01:30"].map((clock) => ({ startAt: `2026-10-25T${clock}:00.000Z` }));
  expect(closestTimes(free, "02:00", "Europe/Berlin", 9)).toEqual(["02:00", "02:30"]);
});
