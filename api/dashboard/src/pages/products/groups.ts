import { type components, ComandaError } from "@comanda/client";

import { localDecimals, parseMoney, plainMoney } from "@/domain/money";
import { type Product, shownKey } from "@/domain/products";

type OptionGroup = Product["optionGroups"][number];
type Option = OptionGroup["options"][number];
type GroupRequest = components["schemas"]["OptionGroupRequest"];

/** The most groups of a product and options of a group, as in the API. */
export const maxGroups = 20;
export const maxOptions = 100;

/** The currencies and locales of the store's views. The product's own currency and the default locale come first. */
export type Views = { currencies: string[]; locales: string[] };

/** A name with its translations. `shown` is the locale of the text that staff read, or "" for the name itself. */
export type NameDraft = { name: string; texts: Record<string, string>; shown: string };

/** An option in the product form. `key` identifies it within the form, `id` among the product's options. */
export type OptionDraft = NameDraft & {
  key: string;
  id?: string;
  prices: Record<string, string>; // by currency, including the product's own; "" = no price
  isAvailable: boolean;
  max: string;
};

export type GroupDraft = NameDraft & { key: string; id?: string; min: string; max: string; options: OptionDraft[] };

let keys = 0;
const newKey = () => `draft-${++keys}`;

function nameDraft(of: Pick<Option, "name" | "translations">, { locales }: Views): NameDraft {
  const shown = shownKey(of.translations, locales[0]!);
  // The default text is shown in the default locale unless it is translated, so that locale needs no field.
  const offered = shown === "" ? locales.slice(1) : locales.filter((locale) => locale !== locales[0]);
  const all = [...new Set([...offered, ...Object.keys(of.translations)])];
  return {
    name: of.name,
    shown,
    texts: Object.fromEntries(all.map((locale) => [locale, of.translations[locale]?.name ?? ""])),
  };
}

const optionDraft = (option: Option, own: string, views: Views): OptionDraft => {
  const amounts: Record<string, number> = { ...option.prices, [own]: option.priceMinor };
  return {
    ...nameDraft(option, views),
    key: newKey(),
    id: option.id,
    prices: Object.fromEntries(
      [...new Set([...views.currencies, ...Object.keys(amounts)])].map((one) => [
        one,
        one in amounts ? plainMoney(amounts[one]!, one) : "",
      ]),
    ),
    isAvailable: option.isAvailable,
    max: String(option.maxQuantity),
  };
};

/** Returns the drafts of option groups. own is the currency of their prices without currency. */
export const groupDrafts = (groups: OptionGroup[], own: string, views: Views): GroupDraft[] =>
  groups.map((group) => ({
    ...nameDraft(group, views),
    key: newKey(),
    id: group.id,
    min: String(group.minSelections),
    max: String(group.maxSelections),
    options: group.options.map((option) => optionDraft(option, own, views)),
  }));

const blank = { name: "", translations: {} };

/** Returns a new option that costs nothing in every currency. */
export const newOption = (views: Views): OptionDraft => ({
  ...nameDraft(blank, views),
  key: newKey(),
  prices: Object.fromEntries(views.currencies.map((currency) => [currency, plainMoney(0, currency)])),
  isAvailable: true,
  max: "1",
});

/** Returns a new group from which at most one option can be chosen. */
export const newGroup = (views: Views): GroupDraft => ({
  ...nameDraft(blank, views),
  key: newKey(),
  min: "0",
  max: "1",
  options: [newOption(views)],
});

/** Returns a group that can be added to a product: without ids. */
export const copyOf = (group: GroupDraft): GroupDraft => ({
  ...group,
  key: newKey(),
  id: undefined,
  options: group.options.map((option) => ({ ...option, key: newKey(), id: undefined })),
});

/** Returns the groups without the ids that a product does not have. The API would refuse them. */
export function withKnownIds(groups: GroupDraft[], product: Product): GroupDraft[] {
  const known = new Set(product.optionGroups.flatMap(({ id, options }) => [id, ...options.map((one) => one.id)]));
  const idOf = (id?: string) => (id !== undefined && known.has(id) ? id : undefined);
  return groups.map((group) => ({
    ...group,
    id: idOf(group.id),
    options: group.options.map((option) => ({ ...option, id: idOf(option.id) })),
  }));
}

/** Returns the text that staff read. */
export const shownName = ({ name, texts, shown }: NameDraft) => (shown === "" ? name : texts[shown]!);

/** Returns the list with the element at one index moved to another. */
export function moved<T>(list: T[], from: number, to: number): T[] {
  const rest = list.filter((_, i) => i !== from);
  return [...rest.slice(0, to), list[from]!, ...rest.slice(to)];
}

/** Returns the rule of a group in words. */
export function ruleOf({ min, max }: Pick<GroupDraft, "min" | "max">): string {
  const [least, most] = [Number(min), Number(max)];
  if (least === most) return `choose exactly ${most}`;
  return least === 0 ? `choose up to ${most}` : `choose ${least} to ${most}`;
}

/** Parses a whole number within bounds. Returns null if the text is none. */
function wholeOf(text: string, least: number, most: number): number | null {
  const n = /^\d{1,4}$/.test(text.trim()) ? Number(text) : -1;
  return n >= least && n <= most ? n : null;
}

/** The errors of groups and options: by key and member, for example `draft-7.prices.EUR`. */
export type GroupErrors = Record<string, string>;

/** Returns the errors of the groups of a product that has its own currency. */
export function groupErrors(groups: GroupDraft[], own: string): GroupErrors {
  const errors: GroupErrors = {};
  const checkName = (of: NameDraft & { key: string }) => {
    if (!of.name.trim()) errors[`${of.key}.name`] = "Enter a name";
    if (of.shown !== "" && !of.texts[of.shown]!.trim()) errors[`${of.key}.texts.${of.shown}`] = "Enter a name";
  };
  for (const group of groups) {
    checkName(group);
    for (const option of group.options) {
      checkName(option);
      if (wholeOf(option.max, 1, 999) === null) errors[`${option.key}.max`] = "Enter a number from 1 to 999";
      for (const [currency, text] of Object.entries(option.prices))
        if (text.trim() ? parseMoney(text, currency) === null : currency === own)
          errors[`${option.key}.prices.${currency}`] = `Enter an amount, such as ${localDecimals("1.50")}`;
    }
    const [min, max] = [wholeOf(group.min, 0, 999), wholeOf(group.max, 1, 999)];
    const offered = group.options.reduce((sum, option) => sum + (wholeOf(option.max, 1, 999) ?? 0), 0);
    if (max === null) errors[`${group.key}.max`] = "Enter a number from 1 to 999";
    if (min === null) errors[`${group.key}.min`] = "Enter a number from 0 to 999";
    else if (max !== null && min > max) errors[`${group.key}.min`] = "Must not exceed the maximum";
    else if (min > offered) errors[`${group.key}.min`] = `The options allow only ${offered}`;
    if (group.options.length === 0) errors[`${group.key}.options`] = "Add an option, or remove the group";
  }
  return errors;
}

const translationsOf = (texts: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(texts)
      .filter(([, text]) => text.trim())
      .map(([locale, text]) => [locale, { name: text.trim() }]),
  );

/** Returns the groups of a request, for groups without errors. */
export const groupsRequest = (groups: GroupDraft[], own: string): GroupRequest[] =>
  groups.map((group) => ({
    id: group.id,
    name: group.name.trim(),
    translations: translationsOf(group.texts),
    minSelections: Number(group.min),
    maxSelections: Number(group.max),
    options: group.options.map((option) => ({
      id: option.id,
      name: option.name.trim(),
      translations: translationsOf(option.texts),
      priceMinor: parseMoney(option.prices[own] ?? "0", own) ?? 0,
      prices: Object.fromEntries(
        Object.entries(option.prices)
          .filter(([currency, text]) => currency !== own && text.trim())
          .map(([currency, text]) => [currency, parseMoney(text, currency) ?? 0]),
      ),
      isAvailable: option.isAvailable,
      maxQuantity: Number(option.max),
    })),
  }));

const members: Record<string, string> = { minSelections: "min", maxSelections: "max", maxQuantity: "max" };

/**
 * Returns the errors that the API has found in groups, by key and member. It takes the groups of the request, because
 * the user may have moved or removed groups since.
 */
export function refusedGroups(error: unknown, groups: GroupDraft[], own: string): GroupErrors {
  const errors: GroupErrors = {};
  for (const { path, message } of error instanceof ComandaError ? error.details : []) {
    const match = /^optionGroups\[(\d+)\](?:\.options\[(\d+)\])?\.(.+)$/.exec(path);
    const group = match && groups[Number(match[1])];
    const of = match?.[2] === undefined ? group : group?.options[Number(match[2])];
    if (!match || !of) continue;
    const member = match[3]!;
    const locale = /^translations\.(.+)\.name$/.exec(member)?.[1];
    const field = member === "priceMinor" ? `prices.${own}` : locale ? `texts.${locale}` : (members[member] ?? member);
    errors[`${of.key}.${field}`] = message;
  }
  return errors;
}

/** Reports whether errors concern a group or one of its options. */
export const errorsIn = (errors: GroupErrors, group: GroupDraft) => {
  const keys = new Set([group.key, ...group.options.map(({ key }) => key)]);
  return Object.keys(errors).filter((path) => keys.has(path.slice(0, path.indexOf(".")))).length;
};
