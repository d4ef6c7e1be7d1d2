import { describe, expect, it } from "vitest";

import { rangeError } from "@/domain/zone";

import { bucketLabel, granularitiesOf, presets } from "./range";

describe("ranges", () => {
  it("match their preset's label", () => {
    const of = (name: keyof typeof presets) => presets[name].range("2026-03-01");
    expect(of("today")).toEqual({ from: "2026-03-01", to: "2026-03-01" });
    expect(of("yesterday")).toEqual({ from: "2026-02-28", to: "2026-02-28" });
    expect(of("7d")).toEqual({ from: "2026-02-23", to: "2026-03-01" });
    expect(of("month")).toEqual({ from: "2026-03-01", to: "2026-03-01" });
    expect(of("lastMonth")).toEqual({ from: "2026-02-01", to: "2026-02-28" });
  });

  it("are valid for every preset", () => {
    for (const preset of Object.values(presets)) {
      const range = preset.range("2024-12-31");
      expect(rangeError(range)).toBeUndefined();
      const { offered, preferred } = granularitiesOf(range);
      expect(offered).toContain(preferred);
    }
  });

  it("are invalid if they run backwards or are too long", () => {
    expect(rangeError({ from: "2026-03-02", to: "2026-03-01" })).toMatch(/before/);
    expect(rangeError({ from: "2025-03-01", to: "2026-03-02" })).toMatch(/366/);
    expect(rangeError({ from: "2025-03-01", to: "2026-03-01" })).toBeUndefined();
  });
});

it.each([
  ["2026-03-29T03:00:00+02:00", "hour", false, "03:00"],
  ["2026-03-29T03:00:00+02:00", "hour", true, "29 Mar 2026, 03:00"],
  ["2026-03-29", "day", false, "29 Mar"],
  ["2026-03-23", "week", true, "23 Mar 2026"],
  ["2026-03-01", "month", true, "March 2026"],
] as const)("%s as %s (long: %s) is %s", (bucket, by, long, label) =>
  expect(bucketLabel(bucket, by, "en-GB", long)).toBe(label),
);

it("hours have their day in ranges of several days", () => {
  expect(bucketLabel("2026-03-29T03:00:00+02:00", "hour", "en-GB", false, true)).toBe("29 Mar, 03:00");
});
