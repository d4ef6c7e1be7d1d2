import { expect, test } from "vitest";

import { headersOf, newHeader, repeatedHeader } from "./headers";

test("headers become a request body, and repeated names are found", () => {
  const rows = [
    { ...newHeader(" X-Key "), value: "a" },
    { ...newHeader("Authorization"), value: "b c" },
  ];
  expect(headersOf(rows)).toEqual({ "X-Key": "a", Authorization: "b c" });
  expect(repeatedHeader(rows)).toBeUndefined();
  expect(repeatedHeader([...rows, newHeader("x-key")])).toBe("x-key");
  expect(new Set(rows.map(({ key }) => key)).size).toBe(2);
});
