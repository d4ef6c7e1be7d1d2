import { useQuery } from "@tanstack/react-query";

import { api } from "@/api/client";
import type { Product, MenuNames } from "@/domain/products";
import { useSession } from "@/session/session";
import { everyPage } from "@/ui/list";

/** Loads the names of the menu if they are enabled. */
export function useMenuNames(enabled: boolean): MenuNames | undefined {
  const { id } = useSession().defaultView;
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
