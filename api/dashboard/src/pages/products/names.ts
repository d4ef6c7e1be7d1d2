import type { components } from "@comanda/client";
import { useQuery } from "@tanstack/react-query";

import { api } from "@/api/client";
import { useSession } from "@/session/session";
import { everyPage } from "@/ui/list";

type Product = components["schemas"]["Product"];

/** Returns the store's default view. Staff read the menu in its texts, also while they use another view. */
export function useDefaultView() {
  const { stores, storeId, locale, currency } = useSession();
  const views = stores.find((store) => store.storeId === storeId)?.storeViews ?? [];
  return views.find((view) => view.isDefault) ?? views[0] ?? { id: undefined, locale, currency };
}

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

/** The names of the menu by id of the product or option, in the texts of the default view. */
export type MenuNames = Map<string, string>;

/** Loads the names of the menu if they are enabled. */
export function useMenuNames(enabled: boolean): MenuNames | undefined {
  const { id } = useDefaultView();
  const names = useQuery({
    queryKey: ["products", "names", id],
    queryFn: async () => {
      const products = await everyPage<Product>((cursor) =>
        api.GET("/products", { params: { query: { storeViewId: id, sort: "position", cursor, limit: 100 } } }),
      );
      return new Map(
        products.flatMap((product) => [
          [product.id, product.name] as const,
          ...product.optionGroups.flatMap(({ options }) => options.map((option) => [option.id, option.name] as const)),
        ]),
      );
    },
    enabled,
    staleTime: 300_000,
  });
  return names.data;
}
