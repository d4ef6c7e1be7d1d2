import { expect, test } from "vitest";

import { extendsBeyond } from "./reservations";

test.each([
  ["2026-03-20T22:30:00Z", "2026-03-21T00:30:00Z", "2026-03-20", false, true], // 23:30 to 01:30 in Berlin
  ["2026-03-20T22:30:00Z", "2026-03-21T00:30:00Z", "2026-03-21", true, false],
  ["2026-03-20T21:00:00Z", "2026-03-20T23:00:00Z", "2026-03-20", false, false], // ends at midnight
  ["2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", "2026-03-29", false, false], // a full day of 23 hours
])("%s to %s on %s", (startAt, endAt, day, before, after) =>
  expect(extendsBeyond({ startAt, endAt, timezone: "Europe/Berlin" }, day)).toEqual({ before, after }),
);
