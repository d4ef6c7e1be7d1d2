import type { components } from "@comanda/client";

import { localDecimals, parseMoney, plainMoney } from "@/domain/money";
import { parsePercent, plainPercent } from "@/domain/percent";
import { type Product, shownKey } from "@/domain/products";

import { type GroupDraft, type Views, groupDrafts, groupErrors, groupsRequest } from "./groups";

type Create = components["schemas"]["CreateProductRequest"];
type Change = components["schemas"]["ChangeProductRequest"];

/** The state of the product form: amounts, rates and counts are texts. */
export type Draft = {
  name: string;
  description: string;
  category: string;
  sku: string;
  imageUrl: string;
  tax: string; // percent; "" = the store's rate
  stock: string; // "" = not tracked
  isAvailable: boolean;
  currency: string;
  prices: Record<string, string>; // by currency, including the product's own; "" = no price
  texts: Record<string, { name: string; description: string }>; // by locale
  shown: string; // the locale of the texts that staff read, or "" for the name and the description themselves
  groups: GroupDraft[];
};

/** Returns the draft of a product, or of a new one, with fields for the currencies and locales of the views. */
export function draftOf(product: Product | undefined, views: Views): Draft {
  const { currencies, locales } = views;
  const own = product?.currency ?? currencies[0]!;
  const shown = shownKey(product?.translations ?? {}, locales[0]!);
  const amounts: Record<string, number> = product ? { ...product.prices, [own]: product.priceMinor } : {};
  return {
    name: product?.name ?? "",
    description: product?.description ?? "",
    category: product?.category ?? "",
    sku: product?.sku ?? "",
    imageUrl: product?.imageUrl ?? "",
    tax: product?.taxRatePpm === undefined ? "" : plainPercent(product.taxRatePpm),
    stock: product?.stockQuantity === undefined ? "" : String(product.stockQuantity),
    isAvailable: product?.isAvailable ?? true,
    currency: own,
    prices: Object.fromEntries(
      [...new Set([own, ...currencies, ...Object.keys(amounts)])].map((one) => [
        one,
        one in amounts ? plainMoney(amounts[one]!, one) : "",
      ]),
    ),
    texts: Object.fromEntries(
      [...new Set([...locales.slice(1), ...Object.keys(product?.translations ?? {})])].map((one) => [
        one,
        { name: product?.translations[one]?.name ?? "", description: product?.translations[one]?.description ?? "" },
      ]),
    ),
    shown,
    groups: groupDrafts(product?.optionGroups ?? [], own, views),
  };
}

/** Returns the texts that staff read. */
export const shownTexts = ({ name, description, texts, shown }: Draft) =>
  shown === "" ? { name, description } : texts[shown]!;

/** Returns the change of a draft that sets texts in a locale, or the product's own texts for "". */
export const textsChange = (
  draft: Draft,
  locale: string,
  change: Partial<{ name: string; description: string }>,
): Partial<Draft> =>
  locale === "" ? change : { texts: { ...draft.texts, [locale]: { ...draft.texts[locale]!, ...change } } };

/** Returns the errors of a draft, by member of the request. */
export function draftErrors(draft: Draft): Record<string, string> {
  const errors: Record<string, string> = {};
  for (const [currency, text] of Object.entries(draft.prices)) {
    if (text.trim() ? parseMoney(text, currency) === null : currency === draft.currency)
      errors[`prices.${currency}`] = `Enter an amount, such as ${localDecimals("12.50")}`;
  }
  if (draft.tax.trim() && parsePercent(draft.tax) === null) errors.taxRatePpm = "Enter a rate from 0 to 100";
  if (draft.stock.trim() && !/^\d{1,9}$/.test(draft.stock.trim())) errors.stockQuantity = "Enter a whole number";
  for (const [locale, text] of Object.entries(draft.texts)) {
    if (!text.name.trim() && (text.description.trim() || locale === draft.shown))
      errors[`translations.${locale}.name`] = "Enter a name for this description";
  }
  return { ...errors, ...groupErrors(draft.groups, draft.currency) };
}

const orUndefined = (text: string) => text.trim() || undefined;

/** Returns the request that creates a product from a draft without errors. */
export function createRequest(draft: Draft): Create {
  const prices = Object.entries(draft.prices).filter(([currency, text]) => currency !== draft.currency && text.trim());
  const texts = Object.entries(draft.texts).filter(([, text]) => text.name.trim());
  return {
    name: draft.name.trim(),
    description: orUndefined(draft.description),
    category: orUndefined(draft.category),
    sku: orUndefined(draft.sku),
    imageUrl: orUndefined(draft.imageUrl),
    priceMinor: parseMoney(draft.prices[draft.currency]!, draft.currency)!,
    currency: draft.currency,
    prices: Object.fromEntries(prices.map(([currency, text]) => [currency, parseMoney(text, currency)!])),
    translations: Object.fromEntries(
      texts.map(([locale, text]) => [locale, { name: text.name.trim(), description: text.description.trim() }]),
    ),
    taxRatePpm: draft.tax.trim() ? parsePercent(draft.tax)! : undefined,
    stockQuantity: draft.stock.trim() ? Number(draft.stock) : undefined,
    isAvailable: draft.isAvailable,
    optionGroups: groupsRequest(draft.groups, draft.currency),
  };
}

/** Returns the merge patch that applies a draft to a product. It has only the changed members. */
export function changeRequest(product: Product, draft: Draft, views: Views): Change {
  const wanted = createRequest(draft);
  const change: Change = {};
  if (wanted.name !== product.name) change.name = wanted.name;
  if (wanted.priceMinor !== product.priceMinor) change.priceMinor = wanted.priceMinor;
  if (wanted.isAvailable !== product.isAvailable) change.isAvailable = wanted.isAvailable;
  for (const member of ["description", "category", "sku", "imageUrl"] as const) {
    if ((wanted[member] ?? "") !== (product[member] ?? "")) change[member] = wanted[member] ?? null;
  }
  for (const member of ["taxRatePpm", "stockQuantity"] as const) {
    if (wanted[member] !== product[member]) change[member] = wanted[member] ?? null;
  }
  const prices = differing(product.prices, wanted.prices!, (a, b) => a === b);
  if (prices) change.prices = prices;
  const texts = differing(
    product.translations,
    wanted.translations!,
    (a, b) => a.name === b.name && (a.description ?? "") === (b.description ?? ""),
  );
  if (texts) change.translations = texts as Change["translations"];
  if (!sameGroups(draft.groups, draftOf(product, views).groups, product.currency))
    change.optionGroups = wanted.optionGroups;
  return change;
}

/** Returns the changed entries, with null for removed ones, or undefined if there are none. */
function differing<Old, New>(old: Record<string, Old>, wanted: Record<string, New>, same: (a: Old, b: New) => boolean) {
  const change: Record<string, New | null> = {};
  for (const [name, value] of Object.entries(wanted)) {
    if (!(name in old) || !same(old[name]!, value)) change[name] = value;
  }
  for (const name of Object.keys(old)) {
    if (!(name in wanted)) change[name] = null;
  }
  return Object.keys(change).length > 0 ? change : undefined;
}

/** Reports whether two drafts request the same groups. */
export const sameGroups = (a: GroupDraft[], b: GroupDraft[], own: string) =>
  JSON.stringify(groupsRequest(a, own)) === JSON.stringify(groupsRequest(b, own));
