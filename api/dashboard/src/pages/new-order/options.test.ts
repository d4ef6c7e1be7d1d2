import { expect, test } from "vitest";

import type { Product } from "@/domain/products";

import {
  type Group,
  type Option,
  choicesText,
  groupFault,
  initialChoices,
  optionFault,
  roomFor,
  unitPrice,
} from "./options";

const option = (id: string, change: Partial<Option> = {}): Option => ({
  id,
  name: id,
  translations: {},
  priceMinor: 100,
  prices: { CHF: 120 },
  isAvailable: true,
  maxQuantity: 1,
  ...change,
});

const group = (minSelections: number, maxSelections: number, options: Option[]): Group => ({
  id: "g",
  name: "Toppings",
  translations: {},
  minSelections,
  maxSelections,
  options,
});

const productOf = (...optionGroups: Group[]) => ({ id: "p", currency: "EUR", optionGroups }) as unknown as Product;

test.each([
  [group(1, 1, [option("a")]), {}, "EUR", "Choose 1; 0 chosen."],
  [group(1, 1, [option("a")]), { a: 1 }, "EUR", undefined],
  [group(0, 2, [option("a", { maxQuantity: 3 })]), { a: 3 }, "EUR", "Choose up to 2; 3 chosen."],
  [group(0, 9, [option("a", { maxQuantity: 2 })]), { a: 3 }, "EUR", "Choose a at most 2 times."],
  [group(2, 3, [option("a"), option("b")]), { a: 1 }, "EUR", "Choose 2 to 3; 1 chosen."],
  [group(0, 1, [option("a", { isAvailable: false })]), { a: 1 }, "EUR", "a is not available. Choose another option."],
  [group(0, 1, [option("a")]), { a: 1 }, "JPY", "a has no price in JPY."],
  [group(0, 1, [option("a")]), { a: 1 }, "CHF", undefined],
])("bounds of %o with %o in %s", (of, chosen, currency, wanted) =>
  expect(groupFault(productOf(of), of, chosen, currency)).toBe(wanted),
);

test("an option has room within its own bound and that of its group", () => {
  const of = group(0, 3, [option("a", { maxQuantity: 2 }), option("b", { maxQuantity: 3 })]);
  expect(of.options.map((one) => roomFor(of, one, { a: 1 }))).toEqual([2, 2]);
  expect(of.options.map((one) => roomFor(of, one, { b: 2 }))).toEqual([1, 3]);
});

test("a chosen option that was removed from the menu is a fault", () => {
  const product = productOf(group(0, 1, [option("a")]));
  expect(optionFault(product, { gone: 1 }, "EUR")).toBe("A chosen option is no longer on the menu.");
  expect(optionFault(product, { gone: 0, a: 1 }, "EUR")).toBeUndefined();
});

test("a required option without an alternative is chosen first", () => {
  const out = option("b", { isAvailable: false });
  expect(initialChoices(productOf(group(1, 1, [option("a"), out])), "EUR")).toEqual({ a: 1 });
  expect(initialChoices(productOf(group(1, 1, [option("a"), option("b")])), "EUR")).toEqual({});
  expect(initialChoices(productOf(group(0, 1, [option("a")])), "EUR")).toEqual({});
});

test("the price of a unit includes the quantities of its options", () => {
  const product = productOf(group(0, 3, [option("a", { maxQuantity: 2 }), option("b")]));
  expect(unitPrice(product, 900, { a: 2, b: 1 }, "EUR")).toBe(1200);
  expect(unitPrice(product, 900, { a: 2 }, "CHF")).toBe(1140);
  expect(choicesText(product, { a: 2, b: 1 })).toBe("2× a, b");
});
