import { ComandaError } from "@comanda/client";
import { type QueryKey, type UseQueryOptions, useMutation, useQueries, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";

import { api, data, messageAt, newIdempotencyKey } from "@/api/client";
import { queries, useInvalidate } from "@/api/queries";
import { parseMoney } from "@/domain/money";
import { type Product, inLocale } from "@/domain/products";
import { useSession } from "@/session/session";
import { loadPhoneRules } from "@/ui/phone";
import { useSettled } from "@/ui/search";
import { useToast } from "@/ui/toast";

import {
  type Draft,
  type Line,
  emptyDraft,
  isUnchanged,
  lacksTime,
  lineErrors,
  placeRequest,
  quoteRequest,
} from "./draft";
import { optionFault } from "./options";

/** Reports whether a refusal means that the menu has changed since the products were read. */
export const isMenuChange = (refusal: ComandaError | undefined) =>
  ["PRODUCT_UNAVAILABLE", "OPTION_INVALID", "PRICE_NOT_SET"].includes(refusal?.code ?? "");

export const refusalOf = (error: unknown) => (error instanceof ComandaError ? error : undefined);

/** Returns why the options of lines cannot be ordered, by key. Options that were already ordered are not checked. */
export const lineFaults = (lines: Line[], products: ReadonlyMap<string, Product>, currency: string) =>
  new Map(
    lines.flatMap((line) => {
      const product = products.get(line.productId);
      const fault = product && !isUnchanged(line) && optionFault(product, line.options, currency);
      return fault ? [[line.key, fault] as const] : [];
    }),
  );

/** Returns the products of the lines by id, in the texts of the default view. A refusal reads them again. */
export function useProducts(lines: Line[]) {
  const { locale } = useSession().defaultView;
  return useQueries({
    queries: [...new Set(lines.flatMap((line) => line.productId || []))].map((id) => queries.products.own(id)),
    combine: (results) =>
      new Map(
        results.flatMap(({ data: product }) => (product ? [[product.id, inLocale(product, locale)] as const] : [])),
      ),
  });
}

/** The query of a price for a request, which the service does not execute. Null is no request. */
type PriceQuery<B, P, K extends QueryKey> = (wanted: B | null) => UseQueryOptions<P, Error, P, K>;

/** Returns the price of the draft, and whether it is that of the draft as it is now. */
export function useQuote<B, P, K extends QueryKey>(wanted: B | null, query: PriceQuery<B, P, K>) {
  const invalidate = useInvalidate();
  // Fields that do not change the price must not delay it.
  const text = JSON.stringify(wanted);
  const settled = useSettled(text);
  const quote = useQuery(query(JSON.parse(settled) as B | null));
  const settledNow = wanted !== null && settled === text;
  const error = settledNow ? quote.error : null;
  const refusal = refusalOf(error);
  useEffect(() => {
    if (isMenuChange(refusal)) void invalidate("products");
  }, [refusal, invalidate]);
  return {
    ...quote,
    error,
    refusal,
    current: settledNow && !quote.isPlaceholderData && !quote.isError ? quote.data : undefined,
  };
}

type Priced = { current?: { currency: string }; error: unknown };

/**
 * Returns a quote that is current only in the currency of the page, in which the discount was typed. Another user may
 * have changed or deleted the view: then the views are read again.
 */
function useCurrencyOf<Q extends Priced>(quote: Q, currency: string): Q {
  const invalidate = useInvalidate();
  const isOther = quote.current !== undefined && quote.current.currency !== currency;
  const isStale = isOther || messageAt(quote.error, "storeViewId") !== undefined;
  useEffect(() => {
    if (isStale) void Promise.all([invalidate("me"), invalidate("stores")]);
  }, [isStale, invalidate]);
  return isOther ? { ...quote, current: undefined } : quote;
}

/** Returns the mutation that places the order and then opens its page. onRefused reads the price again. */
function usePlacing(onRefused: () => Promise<unknown>) {
  const { viewId, currency, country, timezone } = useSession();
  const navigate = useNavigate();
  const invalidate = useInvalidate();
  const toast = useToast();
  // The key stays until the order is placed: if the response to the first attempt got lost, the second one repeats it.
  const [idempotencyKey, setIdempotencyKey] = useState(newIdempotencyKey);
  const sending = useRef(false); // set immediately, unlike isPending, which the second click may not see yet
  const placing = useMutation({
    mutationFn: async ({ draft, total }: { draft: Draft; total: number }) => {
      if (draft.phone) await loadPhoneRules();
      return data(
        api.POST("/orders", {
          body: { ...placeRequest(draft, { id: viewId, currency }, { country, timezone }), expectedTotalMinor: total },
          params: { header: { "Idempotency-Key": idempotencyKey } },
        }),
      );
    },
    onSuccess: (order) => {
      void invalidate("orders");
      toast(`Order ${order.orderId} placed`);
      void navigate({ to: "/orders/$id", params: { id: order.id }, ignoreBlocker: true });
    },
    onError: async (error) => {
      const refusal = refusalOf(error);
      if (isMenuChange(refusal)) void invalidate("products");
      const quoted = onRefused();
      // The message names the new total, and the next attempt must send it.
      if (refusal?.code === "TOTAL_MISMATCH") await quoted;
    },
    onSettled: () => {
      sending.current = false;
    },
  });
  return {
    ...placing,
    refusal: refusalOf(placing.error),
    place: (draft: Draft, total: number) => {
      if (sending.current) return;
      sending.current = true;
      placing.mutate({ draft, total });
    },
    /** Ends the attempts to place this order, so that the next one places another order. */
    renew: () => {
      setIdempotencyKey(newIdempotencyKey());
      placing.reset();
    },
  };
}

export type NewOrder = ReturnType<typeof useNewOrder>;

/** The state of the form for a new order: the draft with its products, its price and its errors. */
export function useNewOrder() {
  const { viewId, currency, country, timezone } = useSession();
  const [draft, setDraft] = useState<Draft>(emptyDraft);
  const products = useProducts(draft.lines);
  const faults = lineFaults(draft.lines, products, currency);
  const quotable = faults.size === 0 && !lacksTime(draft);
  const wanted = quotable ? quoteRequest(draft, { id: viewId, currency }, { country, timezone }) : null;
  const quote = useCurrencyOf(useQuote(wanted, queries.quote), currency);
  const placing = usePlacing(quote.refetch);
  // A line that was changed after the refusal is no longer at fault.
  const sent = placing.variables?.draft.lines ?? [];
  const refusedLines = [...lineErrors(placing.refusal, sent, products)].filter(([key]) =>
    draft.lines.some((line) => line.key === key && sent.includes(line)),
  );
  return {
    draft,
    setDraft,
    set: (change: Partial<Draft>) => setDraft((before) => ({ ...before, ...change })),
    products,
    quote,
    placing,
    /** Whether the draft has all that its price depends on. */
    hasPrice: wanted !== null,
    /** Whether the options of a line must change before the order has a price. */
    hasFaults: faults.size > 0,
    /** Whether the service has refused lines that have not changed since. */
    hasRefusedLines: refusedLines.length > 0,
    /** The errors of the lines, by key. */
    lineErrors: new Map([...refusedLines, ...lineErrors(quote.refusal, draft.lines, products), ...faults]),
    invalidDiscount: draft.discount.trim() !== "" && parseMoney(draft.discount, currency) === null,
  };
}
