import { useQuery } from "@tanstack/react-query";

import { api } from "@/api/client";
import type { components } from "@/api/schema";
import { useSession } from "@/session/session";
import { everyPage } from "@/ui/more";

type Category = components["schemas"]["Category"];

/** The categories that the store's products are in, as people of its language sort them. */
export function useCategories(): Category[] {
  const { locale } = useSession();
  const categories = useQuery({
    queryKey: ["products", "categories"],
    queryFn: () => everyPage<Category>((cursor) => api.GET("/products/categories", { params: { query: { cursor, limit: 100 } } })),
  });
  return [...(categories.data ?? [])].sort((a, b) => a.name.localeCompare(b.name, locale));
}
