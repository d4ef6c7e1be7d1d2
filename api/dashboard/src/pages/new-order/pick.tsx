import { useState } from "react";

import { api, data } from "@/api/client";
import { queries } from "@/api/queries";
import { AvailabilityMenu } from "@/components/availability-menu";
import { type Product, inLocale, priceIn } from "@/domain/products";
import { useSession } from "@/session/session";
import { useStaffRight } from "@/session/staff-right";
import { cn } from "@/ui/cn";
import { Money } from "@/ui/format";
import { ShowMore, useList } from "@/ui/list";
import { useNow } from "@/ui/now";
import { Card, QueryState } from "@/ui/page";
import { SearchField } from "@/ui/search";
import { useToast, useErrorToast } from "@/ui/toast";

import type { Draft } from "./draft";

type Props = { draft: Draft; currency: string; onPick: (product: Product) => void };

/** The menu of the form for an order. */
export function PickProducts({ draft, currency, onPick }: Props) {
  const {
    defaultView: { locale },
    atLeast,
  } = useSession();
  const canSellOut = useStaffRight("SELL_OUT");
  const now = useNow(30_000);
  const toast = useToast();
  const showError = useErrorToast();
  const [q, setQ] = useState("");
  const filters = (text: string) => ({ q: text || undefined, isAvailable: true, limit: 50 });
  const products = useList(queries.products.list(filters(q)));
  /** Picks the first product that a search finds. The list may still show the products of another search. */
  async function pickFirst(text: string) {
    if (text.trim() === "") return;
    try {
      const found = await data(
        api.GET("/products", { params: { query: { ...filters(text), own: true, sort: "position" } } }),
      );
      const first = found.find((product) => priceIn(product, currency) !== undefined && product.orderable);
      if (first) onPick(inLocale(first, locale));
      else toast(`No product that can be ordered matches “${text}”`, { error: true });
    } catch (error) {
      showError(error);
    }
  }
  const shown = products.rows.map((product) => inLocale(product, locale));
  return (
    <Card title="Menu">
      <SearchField
        label="Search the menu"
        value={q}
        onSearch={setQ}
        onEnter={(text) => void pickFirst(text)}
        className="mb-3"
      />
      <QueryState query={products} />
      {products.data && products.rows.length === 0 && (
        <p className="p-4 text-center text-sm text-muted-foreground">No available products found.</p>
      )}
      <ul className="grid grid-cols-1 gap-2 sm:grid-cols-2">
        {shown.map((product) => (
          <li key={product.id} className="flex items-center gap-1">
            <Entry
              product={product}
              currency={currency}
              picked={draft.lines.reduce((sum, line) => sum + (line.productId === product.id ? line.quantity : 0), 0)}
              onPick={() => onPick(product)}
            />
            {canSellOut && (
              <AvailabilityMenu
                product={product}
                name={product.name}
                now={now}
                canEdit={atLeast("MANAGER")}
                canSellOut
                compact
              />
            )}
          </li>
        ))}
      </ul>
      <ShowMore list={products} />
    </Card>
  );
}

type EntryProps = { product: Product; currency: string; picked: number; onPick: () => void };

function Entry({ product, currency, picked, onPick }: EntryProps) {
  const price = priceIn(product, currency);
  return (
    <button
      type="button"
      disabled={price === undefined || !product.orderable}
      onClick={onPick}
      className={cn(
        "flex min-w-0 flex-1 items-center gap-2 rounded-md border p-2.5 text-left text-sm pointer-coarse:min-h-11",
        "hover:bg-muted disabled:opacity-60",
      )}
    >
      <span className="min-w-0 flex-1">
        <span className="block truncate font-medium">{product.name}</span>
        <span className="block truncate text-xs text-muted-foreground">
          {price === undefined
            ? `no price in ${currency}`
            : !product.orderable
              ? "sold out"
              : product.stockQuantity === undefined
                ? product.category
                : `${product.stockQuantity} left`}
        </span>
      </span>
      {price !== undefined && <Money minor={price} currency={currency} />}
      {picked > 0 && (
        <span
          className={cn("rounded-full bg-primary px-2 text-xs font-semibold", "text-primary-foreground tabular-nums")}
        >
          {picked}
        </span>
      )}
    </button>
  );
}
