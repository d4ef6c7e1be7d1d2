import type { components } from "@comanda/client";
import { expect, test } from "vitest";

import { type Views } from "./groups";
import { changeRequest, createRequest, draftErrors, draftOf, shownTexts, textsChange } from "./draft";

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
  optionGroups: [],
  version: 1,
} as unknown as components["schemas"]["Product"];

const views: Views = { currencies: ["EUR", "USD", "JPY"], locales: ["en-GB", "en-US"] };
const yen: Views = { currencies: ["EUR", "JPY"], locales: ["en-GB", "de"] };

test("changeRequest is empty for an unchanged draft", () => {
  expect(changeRequest(product, draftOf(product, views), views)).toEqual({});
});

test("changeRequest has the changed members and null for cleared ones", () => {
  const draft = draftOf(product, views);
  const change = changeRequest(
    product,
    {
      ...draft,
      sku: "",
      stock: "",
      tax: "7,5",
      prices: { EUR: "9.90", USD: "", JPY: "1500" },
      texts: { de: { name: "Pizza", description: "Sehr rund" }, "en-US": { name: "Pie", description: "" } },
    },
    views,
  );
  expect(change).toEqual({
    sku: null,
    stockQuantity: null,
    taxRatePpm: 75_000,
    priceMinor: 990,
    prices: { USD: null, JPY: 1500 },
    translations: { de: { name: "Pizza", description: "Sehr rund" }, "en-US": { name: "Pie", description: "" } },
  });
});

test("createRequest omits empty fields", () => {
  const draft = { ...draftOf(undefined, yen), name: " Lasagne ", prices: { EUR: "12.5", JPY: "" } };
  expect(draftErrors(draft)).toEqual({});
  expect(createRequest(draft)).toEqual({
    name: "Lasagne",
    priceMinor: 1250,
    currency: "EUR",
    prices: {},
    translations: {},
    isAvailable: true,
    optionGroups: [],
  });
});

test("the texts of the default view are edited where they are shown", () => {
  const german = draftOf(product, { currencies: ["EUR"], locales: ["de-AT", "en-US"] });
  expect(german.shown).toBe("de");
  expect(shownTexts(german)).toEqual({ name: "Pizza", description: "Rund" });
  const edited = { ...german, ...textsChange(german, german.shown, { name: "Fladen" }) };
  expect(changeRequest(product, edited, { currencies: ["EUR"], locales: ["de-AT", "en-US"] })).toEqual({
    translations: { de: { name: "Fladen", description: "Rund" } },
  });
  const english = draftOf(product, views);
  expect(english.shown).toBe("");
  expect(changeRequest(product, { ...english, ...textsChange(english, "", { name: "Pie" }) }, views)).toEqual({
    name: "Pie",
  });
});

test("draftErrors names each invalid field", () => {
  const draft = {
    ...draftOf(undefined, yen),
    prices: { EUR: "", JPY: "1.5" },
    tax: "100,1",
    stock: "-1",
    texts: { de: { name: "", description: "x" } },
  };
  expect(Object.keys(draftErrors(draft)).sort()).toEqual([
    "prices.EUR",
    "prices.JPY",
    "stockQuantity",
    "taxRatePpm",
    "translations.de.name",
  ]);
});
