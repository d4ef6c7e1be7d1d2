import { expect, test } from "vitest";

import type { Product } from "@/domain/products";

import { changeRequest, draftOf } from "./draft";
import type { Views } from "./groups";
import { merge } from "./merge";

const views: Views = { currencies: ["EUR", "USD"], locales: ["en-GB", "de-DE"] };

const option = (id: string, name: string) => ({
  id,
  name,
  translations: {},
  priceMinor: 100,
  prices: {},
  isAvailable: true,
  maxQuantity: 1,
});

const product = {
  id: "prd_1",
  name: "Pizza",
  description: "",
  category: "pizza",
  currency: "EUR",
  priceMinor: 950,
  prices: { USD: 1100 },
  translations: {},
  isAvailable: true,
  stockQuantity: 3,
  optionGroups: [
    {
      id: "grp_1",
      name: "Extras",
      translations: {},
      minSelections: 0,
      maxSelections: 1,
      options: [option("opt_1", "Olives"), option("opt_2", "Capers")],
    },
  ],
  version: 1,
} as unknown as Product;

test("merge keeps the user's entries and takes over the other changes", () => {
  const draft = draftOf(product, views);
  const mine = { ...draft, name: "My pizza", stock: "9", prices: { ...draft.prices, EUR: "10.00" } };
  const current = {
    ...product,
    name: "Their pizza",
    category: "dough",
    priceMinor: 1000,
    stockQuantity: 2,
    version: 4,
  };
  const merged = merge(product, current, mine, views);
  expect(changeRequest(current, merged.draft, views)).toEqual({ name: "My pizza", stockQuantity: 9 });
  expect(merged.differences).toEqual([
    { label: "Name", before: "Pizza", now: "Their pizza", yours: "My pizza" },
    { label: "Category", before: "pizza", now: "dough", yours: undefined },
    { label: "In stock", before: "3", now: "2", yours: "9" },
  ]);
});

test("merge keeps edited groups, without the ids of options that were removed", () => {
  const mine = draftOf(product, views);
  mine.groups[0]!.options[1]!.name = "Big capers";
  const current = {
    ...product,
    optionGroups: [{ ...product.optionGroups[0]!, options: [option("opt_1", "Olives")] }],
    version: 2,
  };
  const merged = merge(product, current, mine, views);
  const [group] = changeRequest(current, merged.draft, views).optionGroups!;
  expect(group!.options.map(({ id, name }) => [id, name])).toEqual([
    ["opt_1", "Olives"],
    [undefined, "Big capers"],
  ]);
  expect(merged.differences).toEqual([
    {
      label: "Options",
      before: "Extras (Olives, Capers)",
      now: "Extras (Olives)",
      yours: "Extras (Olives, Big capers)",
    },
  ]);
});

test("merge has no differences if nothing in the form has changed", () => {
  const merged = merge(product, { ...product, version: 7 }, { ...draftOf(product, views), name: "Mine" }, views);
  expect(merged.differences).toEqual([]);
  expect(merged.draft.name).toBe("Mine");
});
