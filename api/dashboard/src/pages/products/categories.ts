import type { components } from "@comanda/client";
import { useQuery } from "@tanstack/react-query";

import { queries } from "@/api/queries";
import { useSession } from "@/session/session";

type Category = components["schemas"]["Category"];

/** Returns the categories of the store's products, sorted for the view's locale. */
export function useCategories(): Category[] {
  const { locale } = useSession();
  const categories = useQuery(queries.products.categories);
  return [...(categories.data ?? [])].sort((a, b) => a.name.localeCompare(b.name, locale));
}
