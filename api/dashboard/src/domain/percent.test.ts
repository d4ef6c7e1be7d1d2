import { expect, it } from "vitest";

import { parsePercent, plainPercent } from "./percent";

it.each([
  ["19", 190_000],
  ["7,5 %", 75_000],
  ["8.875", 88_750],
  ["0", 0],
  ["100", 1_000_000],
  ["0.0001", 1],
])("%s is %i ppm", (text, ppm) => {
  expect(parsePercent(text)).toBe(ppm);
  expect(parsePercent(plainPercent(ppm))).toBe(ppm);
});

it.each(["", "100.1", "-1", "1.00001", "nineteen", "1e2", "1.2.3"])("%s is not a percentage", (text) =>
  expect(parsePercent(text)).toBeNull(),
);
