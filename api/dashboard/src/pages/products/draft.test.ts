import { expect, test } from "vitest";

import type { components } from "@/api/schema";

import { changing, creating, draftOf, faultsOf } from "./draft";

const product = {
  id: "prd_1",
  name: "Pizza",
  description: "Round",
  category: "pizza",
  sku: "P1",
  currency: "EUR",
  priceMinor: 950,
  prices: { USD: 1100 },
  translations: { de: { name: "Pizza", description: "Rund" } },
  isAvailable: true,
  stockQuantity: 3,
  version: 1,
} as unknown as components["schemas"]["Product"];

test("a draft that nobody has touched changes nothing", () => {
  expect(changing(product, draftOf(product, ["EUR", "USD", "JPY"], ["en-US"]))).toEqual({});
});

test("only what differs is sent, what was cleared as null", () => {
  const draft = draftOf(product, ["EUR", "USD", "JPY"], ["en-US"]);
  const change = changing(product, {
    ...draft,
    sku: "",
    stock: "",
    tax: "7,5",
    prices: { EUR: "9.90", USD: "", JPY: "1500" },
    texts: { de: { name: "Pizza", description: "Sehr rund" }, "en-US": { name: "Pie", description: "" } },
  });
  expect(change).toEqual({
    sku: null,
    stockQuantity: null,
    taxRatePpm: 75_000,
    priceMinor: 990,
    prices: { USD: null, JPY: 1500 },
    translations: { de: { name: "Pizza", description: "Sehr rund" }, "en-US": { name: "Pie", description: "" } },
  });
});

test("a new product has what was filled in", () => {
  const draft = { ...draftOf(undefined, ["EUR", "JPY"], ["de"]), name: " Lasagne ", prices: { EUR: "12.5", JPY: "" } };
  expect(faultsOf(draft)).toEqual({});
  expect(creating(draft)).toEqual({ name: "Lasagne", priceMinor: 1250, currency: "EUR", prices: {}, translations: {}, isAvailable: true });
});

test("what cannot be read is named", () => {
  const draft = { ...draftOf(undefined, ["EUR", "JPY"], ["de"]), prices: { EUR: "", JPY: "1.5" }, tax: "100,1", stock: "-1", texts: { de: { name: "", description: "x" } } };
  expect(Object.keys(faultsOf(draft)).sort()).toEqual(["prices.EUR", "prices.JPY", "stockQuantity", "taxRatePpm", "translations.de.name"]);
});
