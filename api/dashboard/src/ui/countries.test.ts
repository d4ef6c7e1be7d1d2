import { expect, test } from "vitest";

import { countries } from "./countries";

test("countries lists current country codes by name", () => {
  const all = countries("en");
  expect(all.length).toBeGreaterThanOrEqual(249);
  expect(all[0]).toEqual(["AF", "Afghanistan"]);
  expect(Object.fromEntries(all)).toMatchObject({ DE: "Germany", CH: "Switzerland" });
  const codes = all.map(([code]) => code);
  for (const other of ["EU", "UN", "ZZ", "DD", "UK"]) expect(codes).not.toContain(other);
});
