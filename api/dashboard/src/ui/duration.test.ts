import { expect, test } from "vitest";

import { formatDuration, formatMs } from "./duration";

test.each([
  [-5, "0 s"],
  [499, "0 s"],
  [1_000, "1 s"],
  [61_000, "1 min 1 s"],
  [3_600_000, "1 h"],
  [7_499_000, "2 h 4 min"],
  [90_061_000, "1 d 1 h"],
])("formatDuration(%d) is %s", (ms, text) => expect(formatDuration(ms)).toBe(text));

test("formatMs switches from milliseconds to seconds at 1 s", () => {
  expect([null, undefined, 0, 999, 1_000, 12_345].map(formatMs)).toEqual([
    "–",
    "–",
    "0\u00a0ms",
    "999\u00a0ms",
    "1.00\u00a0s",
    "12.3\u00a0s",
  ]);
});
