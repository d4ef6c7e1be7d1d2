import { useMutation } from "@tanstack/react-query";

import { menuOf } from "@/api/requests";
import type { Product } from "@/domain/products";
import { useSession } from "@/session/session";
import { csvOf, download, separatorIn } from "@/ui/csv";
import { useToast, useErrorToast } from "@/ui/toast";

/** The columns of the import, in the same order. */
const columns = [
  "sku",
  "name",
  "description",
  "category",
  "priceMinor",
  "currency",
  "taxRatePpm",
  "isAvailable",
  "stockQuantity",
  "position",
  "externalId",
] as const satisfies (keyof Product)[];

/** Returns a CSV of products that the import accepts without changes. It omits products without a SKU. */
export function productsCsv(products: Product[], separator: "," | ";"): string {
  const rows = products.filter(({ sku }) => sku).map((product) => columns.map((column) => product[column]));
  return csvOf([...columns], rows, separator);
}

/** The mutation that saves the menu as a file. */
export function useProductsExport() {
  const { locale } = useSession();
  const toast = useToast();
  const showError = useErrorToast();
  return useMutation({
    mutationFn: () => menuOf(undefined),
    onSuccess: (products) => {
      download("products.csv", productsCsv(products, separatorIn(locale)));
      const omitted = products.filter(({ sku }) => !sku).length;
      const exported = `${products.length - omitted} products exported`;
      toast(omitted > 0 ? `${exported}; ${omitted} without a SKU were left out, because an import needs it` : exported);
    },
    onError: showError,
  });
}
