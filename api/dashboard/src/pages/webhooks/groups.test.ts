import { expect, test } from "vitest";

import { byEvent } from "./groups";

test("byEvent puts the attempts of an event together", () => {
  const rows = ["b", "a", "b", "c", "a"].map((eventId, n) => ({ eventId, n }));
  expect(byEvent(rows).map(({ row, first }) => `${row.eventId}${row.n}${first ? "!" : ""}`)).toEqual([
    "b0!",
    "b2",
    "a1!",
    "a4",
    "c3!",
  ]);
  expect(byEvent([])).toEqual([]);
});
