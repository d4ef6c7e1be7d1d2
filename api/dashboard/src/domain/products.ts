import type { components } from "@comanda/client";

export type Product = components["schemas"]["Product"];

/** The names of the menu by id of the product or option, in the texts of the default view. */
export type MenuNames = Map<string, string>;

/**
 * Returns the key of the translation that a view with the locale shows, or "" if it shows the default text. It has the
 * fallback of the API: the locale, then its language.
 */
export function shownKey(translations: Record<string, unknown>, locale: string): string {
  return [locale, locale.split("-")[0]!].find((key) => key in translations) ?? "";
}

/** Returns the name of a product, group or option in a locale. */
export const nameIn = (
  { name, translations }: { name: string; translations: Record<string, { name: string }> },
  locale: string,
): string => translations[shownKey(translations, locale)]?.name ?? name;

/** Returns a product that was read with its own texts, with its texts and those of its options in a locale. */
export function inLocale(product: Product, locale: string): Product {
  const { translations, optionGroups } = product;
  return {
    ...product,
    name: nameIn(product, locale),
    description: translations[shownKey(translations, locale)]?.description ?? product.description,
    optionGroups: optionGroups.map((group) => ({
      ...group,
      name: nameIn(group, locale),
      options: group.options.map((option) => ({ ...option, name: nameIn(option, locale) })),
    })),
  };
}

/** Returns the price of a product in a currency, in minor units, or undefined if it has none. */
export const priceIn = (
  product: Pick<Product, "currency" | "priceMinor" | "prices">,
  currency: string,
): number | undefined => (product.currency === currency ? product.priceMinor : product.prices[currency]);

/** The name of a row of product sales. All lines without a product share a row. */
export const soldName = ({ productId, productName }: { productId: string | null; productName: string }) =>
  productId === null ? "Not on the menu" : productName;
