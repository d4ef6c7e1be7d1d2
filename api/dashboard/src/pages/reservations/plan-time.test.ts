import { describe, expect, it, test } from "vitest";

import { barOf, hoursOf, movedTo, periodOf } from "./plan-time";

const at = (time: string) => Date.parse(time);

test.each([
  ["2026-07-01", [], "2026-07-01T08:00:00Z", "2026-07-01T22:00:00Z"],
  ["2026-07-01", ["2026-07-01T05:45:00Z"], "2026-07-01T05:00:00Z", "2026-07-01T22:00:00Z"],
  ["2026-07-01", ["2026-06-30T20:00:00Z"], "2026-06-30T22:00:00Z", "2026-07-01T22:00:00Z"], // from the day before
  ["2026-10-25", ["2026-10-24T23:00:00Z"], "2026-10-24T23:00:00Z", "2026-10-25T23:00:00Z"], // a day of 25 hours
])("the plan of %s with %j", (day, starts, from, to) =>
  expect(
    periodOf(
      day,
      "Europe/Berlin",
      starts.map((startAt) => ({ startAt })),
    ),
  ).toEqual({ from: at(from), to: at(to) }),
);

test("labels are full hours, also on the day with 25 of them", () =>
  expect(hoursOf(periodOf("2026-10-25", "Europe/Berlin", [{ startAt: "2026-10-24T22:00:00Z" }]))).toHaveLength(25));

describe("in a period of ten hours", () => {
  const period = { from: at("2026-07-01T10:00:00Z"), to: at("2026-07-01T20:00:00Z") };
  const of = (from: string, to: string) => barOf(period, { from: at(from), to: at(to) });

  it("a bar has the share of its reservation", () =>
    expect(of("2026-07-01T12:00:00Z", "2026-07-01T14:00:00Z")).toEqual({ left: 0.2, width: 0.2 }));

  it("a bar ends with the day", () =>
    expect(of("2026-07-01T19:00:00Z", "2026-07-01T22:00:00Z")).toEqual({ left: 0.9, width: 0.1 }));

  it.each([
    ["12:00", 22, "12:15"],
    ["12:07", 0, "12:00"],
    ["12:00", -1000, "10:00"],
    ["12:00", 1000, "19:45"],
  ])("a reservation at %s moved by %i minutes begins at %s", (start, by, wanted) =>
    expect(movedTo(period, at(`2026-07-01T${start}:00Z`), by * 60_000)).toBe(at(`2026-07-01T${wanted}:00Z`)),
  );
});
