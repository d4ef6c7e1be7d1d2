import { ComandaError } from "@comanda/client";

import { api, data, ifMatch } from "@/api/client";
import { ownProduct } from "@/api/requests";
import type { Product } from "@/domain/products";

import { type Draft, changeRequest } from "./draft";
import type { Views } from "./groups";
import { type Difference, merge } from "./merge";

/** How often the form is saved again after changes that do not concern it, for example of the stock by orders. */
const maxRepeats = 5;

/** Thrown if another user has changed fields of the form. */
export class Changed extends Error {
  constructor(
    readonly current: Product,
    readonly draft: Draft,
    readonly differences: Difference[],
  ) {
    super("changed by another user");
  }
}

const isStale = (error: unknown) => error instanceof ComandaError && error.code === "VERSION_MISMATCH";

/**
 * Saves a draft of a product. If the product has changed meanwhile in other fields of the form, it throws Changed with
 * the draft on top of the current product. Changes of the stock by orders do not interrupt it, unless the user has set
 * the stock.
 */
export async function saveChange(product: Product, draft: Draft, views: Views): Promise<Product> {
  for (let repeats = 0; ; repeats++) {
    try {
      return await data(
        api.PATCH("/products/{id}", {
          params: { path: { id: product.id }, header: ifMatch(product) },
          body: changeRequest(product, draft, views),
        }),
      );
    } catch (error) {
      if (!isStale(error)) throw error;
      const current = await ownProduct(product.id);
      const merged = merge(product, current, draft, views);
      const harmless = merged.differences.every(({ label, yours }) => label === "In stock" && yours === undefined);
      if (!harmless || repeats === maxRepeats) throw new Changed(current, merged.draft, merged.differences);
      [product, draft] = [current, merged.draft];
    }
  }
}
