import type { components } from "@comanda/client";
import { useQuery } from "@tanstack/react-query";

import { api } from "@/api/client";
import { useSession } from "@/session/session";
import { everyPage } from "@/ui/list";

type Category = components["schemas"]["Category"];

/** Returns the categories of the store's products, sorted for the view's locale. */
export function useCategories(): Category[] {
  const { locale } = useSession();
  const categories = useQuery({
    queryKey: ["products", "categories"],
    queryFn: () =>
      everyPage<Category>((cursor) => api.GET("/products/categories", { params: { query: { cursor, limit: 100 } } })),
  });
  return [...(categories.data ?? [])].sort((a, b) => a.name.localeCompare(b.name, locale));
}
