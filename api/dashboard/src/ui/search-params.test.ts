import { expect, test } from "vitest";

import { dayOf, oneOf, textOf } from "./search-params";

test("search parameters are parsed and invalid values are dropped", () => {
  const search = {
    q: 12,
    empty: "",
    status: "READY",
    other: "constructor",
    day: "2028-02-29",
    none: "2026-02-29",
    form: "1.1.2026",
    list: ["a"],
  };
  expect(textOf(search, "q")).toBe("12");
  expect(textOf(search, "empty")).toBeUndefined();
  expect(textOf(search, "list")).toBeUndefined();
  expect(oneOf(search, "status", { READY: 1 })).toBe("READY");
  expect(oneOf(search, "other", { READY: 1 })).toBeUndefined();
  expect(dayOf(search, "day")).toBe("2028-02-29");
  expect(dayOf(search, "none")).toBeUndefined();
  expect(dayOf(search, "form")).toBeUndefined();
});
