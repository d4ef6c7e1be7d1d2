import { expect, test } from "vitest";

import { type Day, type Span, days, endOf, weekErrors } from "./opening-hours";

const weekOf = (spans: Partial<Record<Day, [string, string][]>>) =>
  Object.fromEntries(days.map((day) => [day, (spans[day] ?? []).map(([from, to]): Span => ({ from, to }))])) as Record<
    Day,
    Span[]
  >;

test.each([
  ["11:00", "22:00", undefined],
  ["18:00", "02:00", "next day"],
  ["18:00", "18:00", "next day"],
  ["18:00", "00:00", "midnight"],
  ["00:00", "00:00", "24 hours"],
  ["18:00", "", undefined],
])("%s to %s ends %s", (from, to, end) => expect(endOf({ from, to })).toBe(end));

test.each([
  [
    "apart",
    {
      mon: [
        ["11:00", "14:00"],
        ["14:00", "22:00"],
      ],
    },
    {},
  ],
  [
    "overlapping",
    {
      mon: [
        ["11:00", "14:00"],
        ["13:59", "22:00"],
      ],
    },
    { mon: "Overlaps Monday 11:00–14:00." },
  ],
  [
    "in another order",
    {
      mon: [
        ["13:00", "22:00"],
        ["11:00", "14:00"],
      ],
    },
    { mon: "Overlaps Monday 11:00–14:00." },
  ],
  ["past midnight", { fri: [["18:00", "02:00"]], sat: [["01:00", "05:00"]] }, { sat: "Overlaps Friday 18:00–02:00." }],
  ["into Monday", { sun: [["20:00", "03:00"]], mon: [["02:00", "04:00"]] }, { mon: "Overlaps Sunday 20:00–03:00." }],
  ["all day, every day", Object.fromEntries(days.map((day) => [day, [["00:00", "00:00"]]])), {}],
  ["one day", { mon: [["18:00", "18:00"]] }, {}],
  ["incomplete", { tue: [["18:00", ""]] }, { tue: "Enter both times." }],
] as [string, Partial<Record<Day, [string, string][]>>, object][])("spans %s", (_, spans, errors) =>
  expect(weekErrors(weekOf(spans), "en")).toEqual(errors),
);
