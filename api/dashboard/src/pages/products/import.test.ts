import { type components, ComandaError } from "@comanda/client";
import { expect, test } from "vitest";

import { productsCsv } from "./export";
import { faultsOf, typeOf } from "./import";

const refused = (...paths: string[]) =>
  new ComandaError({
    status: 400,
    code: "VALIDATION_FAILED",
    message: "",
    details: paths.map((path) => ({ path, message: "x" })),
  });

test("faults name the row of the spreadsheet and the column", () => {
  expect(faultsOf(refused("rows[17].priceMinor", "rows[0]", "price", "rows"), "text/csv")).toEqual([
    { row: 19, column: "priceMinor", message: "x" },
    { row: 2, column: undefined, message: "x" },
    { column: "price", message: "x" },
    { column: undefined, message: "x" },
  ]);
  expect(faultsOf(refused("rows[0].optionGroups[1].name"), "application/json")).toEqual([
    { row: 1, column: "optionGroups[1].name", message: "x" },
  ]);
  expect(faultsOf(new Error("x"), "text/csv")).toEqual([]);
});

test("a file is JSON by its name only", () => {
  expect(typeOf("Menu.JSON")).toBe("application/json");
  expect(typeOf("menu.csv")).toBe("text/csv");
  expect(typeOf("menu")).toBe("text/csv");
});

test("the export has the columns of the import and omits products without a SKU", () => {
  const product = {
    sku: "P;1",
    name: "=1+1",
    description: "two\nlines",
    category: "",
    priceMinor: 950,
    currency: "EUR",
    isAvailable: true,
    stockQuantity: 0,
    position: 1000,
  } as components["schemas"]["Product"];
  expect(productsCsv([product, { ...product, sku: undefined }], ";")).toBe(
    "\uFEFFsku;name;description;category;priceMinor;currency;taxRatePpm;isAvailable;stockQuantity;position;" +
      "externalId\r\n" +
      '"P;1";\'=1+1;"two\nlines";;950;EUR;;true;0;1000;\r\n',
  );
});
