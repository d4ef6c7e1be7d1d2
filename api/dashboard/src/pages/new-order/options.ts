import type { components } from "@comanda/client";

import type { Product } from "@/domain/products";

export type Group = components["schemas"]["OptionGroup"];
export type Option = components["schemas"]["Option"];

/** The chosen quantity of each option in one unit of a product. */
export type Chosen = Readonly<Record<string, number>>;

/** Returns the price of one portion of an option in a currency, in minor units, or undefined if it has none. */
export const optionPrice = (product: Pick<Product, "currency">, option: Option, currency: string) =>
  product.currency === currency ? option.priceMinor : option.prices[currency];

/** Returns the number of selections in a group. The bounds of a group count quantities. */
export const selections = (group: Group, chosen: Chosen) =>
  group.options.reduce((sum, option) => sum + (chosen[option.id] ?? 0), 0);

/** Returns the quantity up to which an option can be chosen, given the other choices of its group. */
export const roomFor = (group: Group, option: Option, chosen: Chosen) =>
  Math.min(option.maxQuantity, group.maxSelections - selections(group, chosen) + (chosen[option.id] ?? 0));

/** Returns the rule of a group as a text, for example "Choose 1 to 3". */
export function ruleOf({ minSelections: min, maxSelections: max }: Group) {
  if (min === max) return `Choose ${min}`;
  return min === 0 ? `Choose up to ${max}` : `Choose ${min} to ${max}`;
}

/** Returns the reason why the choices of a group cannot be ordered, or undefined if they can. */
export function groupFault(product: Pick<Product, "currency">, group: Group, chosen: Chosen, currency: string) {
  for (const option of group.options) {
    const quantity = chosen[option.id] ?? 0;
    if (quantity === 0) continue;
    if (!option.isAvailable) return `${option.name} is not available. Choose another option.`;
    if (optionPrice(product, option, currency) === undefined) return `${option.name} has no price in ${currency}.`;
    if (quantity > option.maxQuantity) return `Choose ${option.name} at most ${option.maxQuantity} times.`;
  }
  const sum = selections(group, chosen);
  if (sum < group.minSelections || sum > group.maxSelections) return `${ruleOf(group)}; ${sum} chosen.`;
  return undefined;
}

/** Returns the chosen options that the product no longer has. */
export function removedOptions(product: Product, chosen: Chosen) {
  const known = new Set(product.optionGroups.flatMap((group) => group.options.map((option) => option.id)));
  return Object.keys(chosen).filter((id) => chosen[id]! > 0 && !known.has(id));
}

/** Returns the first reason why the choices of a product cannot be ordered, with the name of its group. */
export function optionFault(product: Product, chosen: Chosen, currency: string) {
  for (const group of product.optionGroups) {
    const fault = groupFault(product, group, chosen, currency);
    if (fault) return `${group.name}: ${fault}`;
  }
  return removedOptions(product, chosen).length > 0 ? "A chosen option is no longer on the menu." : undefined;
}

/** Returns the choices for a new line: the options without an alternative. */
export function initialChoices(product: Product, currency: string): Chosen {
  const chosen: Record<string, number> = {};
  for (const group of product.optionGroups) {
    const possible = group.options.filter(
      (option) => option.isAvailable && optionPrice(product, option, currency) !== undefined,
    );
    if (group.minSelections === 1 && possible.length === 1) chosen[possible[0]!.id] = 1;
  }
  return chosen;
}

/** Returns the chosen options as a text, for example "Large, 2× Cheese". */
export const choicesText = (product: Product, chosen: Chosen) =>
  product.optionGroups
    .flatMap((group) => group.options)
    .filter((option) => (chosen[option.id] ?? 0) > 0)
    .map((option) => (chosen[option.id]! > 1 ? `${chosen[option.id]}× ${option.name}` : option.name))
    .join(", ");

/** Returns the price of one unit with its options, in minor units. */
export const unitPrice = (product: Product, price: number, chosen: Chosen, currency: string) =>
  product.optionGroups
    .flatMap((group) => group.options)
    .reduce((sum, option) => sum + (chosen[option.id] ?? 0) * (optionPrice(product, option, currency) ?? 0), price);
