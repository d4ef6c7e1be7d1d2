import { type components, type paths, paginate } from "@comanda/client";
import {
  type InfiniteData,
  type QueryClient,
  type QueryKey,
  type UseInfiniteQueryOptions,
  keepPreviousData,
  queryOptions,
  useQueryClient,
} from "@tanstack/react-query";
import { useCallback } from "react";

import { type EventType, type ReplayRequest, type Span, spanStart } from "@/domain/webhooks";

import { api, collect, data, ifMatch } from "./client";
import { keepUnchanged, readOpen } from "./open-orders";
import {
  filterRecent,
  menuNames,
  menuOf,
  openOfCustomer,
  ownProduct,
  postReplay,
  reservationsOf,
  setUpParts,
} from "./requests";

type QueryOf<P extends keyof paths> = paths[P] extends { get: { parameters: { query?: infer Q } } }
  ? NonNullable<Q>
  : never;

type Page<T> = { data: T[]; meta: { nextCursor: string | null } };

type Cursor = string | undefined;

/** The query of a list that useList shows page by page. */
export type ListQuery<T> = UseInfiniteQueryOptions<Page<T>, Error, InfiniteData<Page<T>>, QueryKey, Cursor>;

const list = <T>(queryKey: QueryKey, load: (cursor: Cursor) => Promise<Page<T>>): ListQuery<T> => ({
  queryKey,
  queryFn: ({ pageParam }) => load(pageParam),
  initialPageParam: undefined,
  getNextPageParam: (last) => last.meta.nextCursor ?? undefined,
});

/**
 * All queries of the dashboard, by resource. A key begins with the name of the resource, which `invalidate` uses. No
 * other file spells a key or the request of a query: ESLint checks this.
 */
export const queries = {
  /** The logged-in user and the active store. */
  me: queryOptions({ queryKey: ["me"], queryFn: () => data(api.GET("/auth/me")), staleTime: 60_000 }),

  /** The browsers in which the user is logged in. */
  sessions: list(["sessions"], (cursor) => api.GET("/auth/sessions", { params: { query: { cursor, limit: 50 } } })),

  /** The stores of the user. */
  stores: queryOptions({ queryKey: ["stores"], queryFn: () => data(api.GET("/auth/stores")), staleTime: 60_000 }),

  /** The active store. */
  store: queryOptions({ queryKey: ["store"], queryFn: () => data(api.GET("/store")) }),

  settings: queryOptions({ queryKey: ["settings"], queryFn: () => data(api.GET("/settings")) }),

  /** The website of the active store. */
  website: queryOptions({ queryKey: ["website"], queryFn: () => data(api.GET("/website")) }),

  billing: queryOptions({
    queryKey: ["billing"],
    queryFn: () => data(api.GET("/billing")),
    refetchInterval: 5_000,
  }),

  /** The parts of the active store that its set-up needs. */
  setup: (storeId: string, owner: boolean) =>
    queryOptions({ queryKey: ["setup", storeId, owner], queryFn: () => setUpParts(owner) }),

  users: {
    list: list(["users", "list"], (cursor) => api.GET("/users", { params: { query: { cursor, limit: 50 } } })),
    names: queryOptions({
      queryKey: ["users", "names"],
      queryFn: () => data(api.GET("/users", { params: { query: { limit: 100 } } })),
    }),
  },

  invitations: list(["invitations"], (cursor) => api.GET("/invitations", { params: { query: { cursor, limit: 50 } } })),

  apiKeys: {
    list: list(["apiKeys", "list"], (cursor) => api.GET("/api-keys", { params: { query: { cursor, limit: 50 } } })),
    names: queryOptions({
      queryKey: ["apiKeys", "names"],
      queryFn: () => data(api.GET("/api-keys", { params: { query: { limit: 100 } } })),
    }),
  },

  audit: (query: QueryOf<"/audit">) =>
    list(["audit", query], (cursor) => api.GET("/audit", { params: { query: { ...query, cursor, limit: 50 } } })),

  /** The websites of the platform. */
  websites: {
    list: list(["websites", "list"], (cursor) =>
      api.GET("/platform/websites", { params: { query: { cursor, limit: 50 } } }),
    ),
    one: (id: string) =>
      queryOptions({
        queryKey: ["websites", "one", id],
        queryFn: () => data(api.GET("/platform/websites/{id}", { params: { path: { id } } })),
      }),
  },

  platformAudit: (query: QueryOf<"/platform/audit">) =>
    list(["platformAudit", query], (cursor) =>
      api.GET("/platform/audit", { params: { query: { ...query, cursor, limit: 50 } } }),
    ),

  analytics: {
    summary: (range: QueryOf<"/analytics/summary">) =>
      queryOptions({
        queryKey: ["analytics", "summary", range],
        queryFn: () => data(api.GET("/analytics/summary", { params: { query: range } })),
      }),
    sales: (query: QueryOf<"/analytics/sales">) =>
      queryOptions({
        queryKey: ["analytics", "sales", query],
        queryFn: () => data(api.GET("/analytics/sales", { params: { query } })),
      }),
    products: (range: QueryOf<"/analytics/products">) =>
      list(["analytics", "products", range], (cursor) =>
        api.GET("/analytics/products", { params: { query: { ...range, cursor, limit: 20 } } }),
      ),
    options: (range: QueryOf<"/analytics/options">) =>
      list(["analytics", "options", range], (cursor) =>
        api.GET("/analytics/options", { params: { query: { ...range, cursor, limit: 20 } } }),
      ),
    channels: (range: QueryOf<"/analytics/channels">) =>
      queryOptions({
        queryKey: ["analytics", "channels", range],
        queryFn: () => data(api.GET("/analytics/channels", { params: { query: range } })),
      }),
    customers: (range: QueryOf<"/analytics/customers">) =>
      queryOptions({
        queryKey: ["analytics", "customers", range],
        queryFn: () => data(api.GET("/analytics/customers", { params: { query: range } })),
      }),
  },

  customers: {
    list: (query: QueryOf<"/customers">) =>
      list(["customers", "list", query], (cursor) =>
        api.GET("/customers", { params: { query: { ...query, cursor, limit: 50 } } }),
      ),
    /** The first customers that a search finds. */
    found: (q: string) =>
      queryOptions({
        queryKey: ["customers", "found", q],
        queryFn: () => data(api.GET("/customers", { params: { query: { q, limit: 6 } } })),
      }),
    one: (id: string) =>
      queryOptions({
        queryKey: ["customers", "one", id],
        queryFn: () => data(api.GET("/customers/{id}", { params: { path: { id } } })),
      }),
    addresses: (id: string) =>
      queryOptions({
        queryKey: ["customers", "addresses", id],
        queryFn: () => data(api.GET("/customers/{id}/addresses", { params: { path: { id } } })),
      }),
    points: (id: string) =>
      list(["customers", "points", id], (cursor) =>
        api.GET("/customers/{id}/loyalty", { params: { path: { id }, query: { cursor } } }),
      ),
    /** The first open orders and reservations of a customer. */
    open: (id: string, limit: number) =>
      queryOptions({
        queryKey: ["customers", "open", id, limit],
        queryFn: () => openOfCustomer(id, limit),
        staleTime: 0,
      }),
  },

  reservations: {
    /** The reservations of a day, and those from the previous day that still occupy seats. */
    day: (day: string) =>
      queryOptions({
        queryKey: ["reservations", "day", day],
        queryFn: ({ signal }) => reservationsOf(day, signal),
        refetchInterval: 30_000,
      }),
    /** The times of a day at which a party finds seats. */
    slots: (query: QueryOf<"/reservations/slots">) =>
      queryOptions({
        queryKey: ["reservations", "slots", query],
        queryFn: ({ signal }) => data(api.GET("/reservations/slots", { params: { query }, signal })),
        placeholderData: keepPreviousData,
        staleTime: 10_000,
        refetchInterval: 30_000,
      }),
    seats: (day: string) =>
      queryOptions({
        queryKey: ["reservations", "seats", day],
        queryFn: () => data(api.GET("/reservations/seats", { params: { query: { date: day } } })),
        refetchInterval: 30_000,
      }),
  },

  products: {
    /** Shows the previous products until those of another search arrive, so that an open menu or dialog stays. */
    list: (query: QueryOf<"/products">) => ({
      ...list(["products", "list", query], (cursor) =>
        api.GET("/products", { params: { query: { ...query, own: true, sort: "position", cursor } } }),
      ),
      placeholderData: keepPreviousData,
    }),
    /** A product with its own texts instead of those of a view. */
    own: (id: string) =>
      queryOptions({ queryKey: ["products", "own", id], queryFn: () => ownProduct(id), staleTime: 60_000 }),
    /** All products of a category or of the store, in the order of the menu. A refetch would interrupt a drag. */
    menu: (category: string | undefined) =>
      queryOptions({
        queryKey: ["products", "menu", category],
        queryFn: () => menuOf(category),
        gcTime: 0,
        staleTime: Infinity,
      }),
    categories: queryOptions({
      queryKey: ["products", "categories"],
      queryFn: () => collect(paginate(api, "/products/categories")),
    }),
    /** The names of all products and options in a view. */
    names: (storeViewId: string | undefined) =>
      queryOptions({
        queryKey: ["products", "names", storeViewId],
        queryFn: () => menuNames(storeViewId),
        staleTime: 300_000,
      }),
  },

  /** The orders and their payments. */
  orders: {
    list: (query: QueryOf<"/orders">) =>
      list(["orders", "list", query], (cursor) => api.GET("/orders", { params: { query: { ...query, cursor } } })),
    one: (id: string) =>
      queryOptions({
        queryKey: ["orders", "one", id],
        queryFn: () => data(api.GET("/orders/{id}", { params: { path: { id } } })),
      }),
    history: (id: string, version: number) => ({
      ...list(["orders", "part", id, "history", version], (cursor) =>
        api.GET("/orders/{id}/history", { params: { path: { id }, query: { cursor, limit: 50 } } }),
      ),
      placeholderData: keepPreviousData,
    }),
    paymentsOf: (id: string) =>
      list(["orders", "part", id, "payments"], (cursor) =>
        api.GET("/orders/{id}/payments", { params: { path: { id }, query: { cursor } } }),
      ),
    /** The deliveries of an order's events. The event stream reports when they change. */
    deliveries: (id: string) =>
      queryOptions({
        queryKey: ["orders", "deliveries", id],
        queryFn: () => collect(paginate(api, "/orders/{id}/deliveries", { params: { path: { id } } })),
      }),
    payments: (query: QueryOf<"/payments">) =>
      list(["orders", "payments", query], (cursor) =>
        api.GET("/payments", { params: { query: { ...query, cursor, limit: 50 } } }),
      ),
    paymentSums: (range: QueryOf<"/payments/summary">) =>
      queryOptions({
        queryKey: ["orders", "paymentSums", range],
        queryFn: ({ signal }) => data(api.GET("/payments/summary", { params: { query: range }, signal })),
      }),
  },

  /**
   * All open orders of the store. The event stream keeps them up to date. They are a separate resource, so that a
   * change of one order does not read all of them again.
   */
  openOrders: queryOptions({
    queryKey: ["openOrders"],
    queryFn: ({ client }) => readOpen(client),
    structuralSharing: keepUnchanged,
    staleTime: Infinity,
  }),

  /** The price of a new order. */
  quote: (body: components["schemas"]["PlaceOrderRequest"] | null) =>
    queryOptions({
      queryKey: ["quote", body],
      queryFn: ({ signal }) => data(api.POST("/orders/quote", { body: body!, signal })),
      enabled: body !== null,
      placeholderData: keepPreviousData,
      staleTime: 0,
    }),

  /**
   * The changes of an order since a version. The key has its members for the kitchen too, as a text, because most
   * versions do not change them.
   */
  orderChanges: (id: string, since: number, members: string) =>
    queryOptions({
      queryKey: ["orderChanges", id, since, members],
      queryFn: () => data(api.GET("/orders/{id}/changes", { params: { path: { id }, query: { since } } })),
      staleTime: Infinity,
    }),

  /** An order as it would be after a change of a version of it. Nothing is written. */
  amendment: (id: string, change: { version: number; body: components["schemas"]["AmendOrderRequest"] } | null) =>
    queryOptions({
      queryKey: ["amendment", id, change],
      queryFn: ({ signal }) =>
        data(
          api.PATCH("/orders/{id}", {
            params: { path: { id }, query: { dryRun: true }, header: ifMatch(change!) },
            body: change!.body,
            signal,
          }),
        ),
      enabled: change !== null,
      placeholderData: keepPreviousData,
      staleTime: 0,
    }),

  eventTypes: queryOptions({
    queryKey: ["eventTypes"],
    queryFn: () => data(api.GET("/webhooks/event-types")),
    staleTime: Infinity,
  }),

  /** The webhooks with their deliveries, attempts and replays. */
  webhooks: {
    /** The webhooks of the store, and the number of failing days after which the watchdog turns a webhook off. */
    all: queryOptions({
      queryKey: ["webhooks", "all"],
      queryFn: () => api.GET("/webhooks"),
      refetchInterval: 30_000,
    }),
    /** A webhook. Its key is the prefix of its statistics and attempts. */
    one: (id: string) =>
      queryOptions({
        queryKey: ["webhooks", "one", id],
        queryFn: () => data(api.GET("/webhooks/{id}", { params: { path: { id } } })),
        refetchInterval: 15_000,
      }),
    stats: (id: string, span: Span) =>
      queryOptions({
        queryKey: ["webhooks", "one", id, "stats", span],
        queryFn: () =>
          data(api.GET("/webhooks/{id}/stats", { params: { path: { id }, query: { from: spanStart(span) } } })),
        refetchInterval: 60_000,
        staleTime: 30_000,
        placeholderData: keepPreviousData,
      }),
    attempts: (id: string, query: QueryOf<"/webhooks/{id}/deliveries">) =>
      queryOptions({
        queryKey: ["webhooks", "one", id, "attempts", query],
        queryFn: () => api.GET("/webhooks/{id}/deliveries", { params: { path: { id }, query } }),
      }),
    attempt: (id: string, attemptId: string) =>
      queryOptions({
        queryKey: ["webhooks", "one", id, "attempt", attemptId],
        queryFn: () => data(api.GET("/webhooks/{id}/deliveries/{attemptId}", { params: { path: { id, attemptId } } })),
        refetchInterval: (query) => (query.state.data?.status === "retrying" ? 2_000 : false),
      }),
    delivery: (id: string) =>
      queryOptions({
        queryKey: ["webhooks", "delivery", id],
        queryFn: () => data(api.GET("/deliveries/{id}", { params: { path: { id } } })),
        refetchInterval: 2_000,
      }),
    /** The newest queued deliveries of a webhook. */
    queued: (webhookId: string) =>
      queryOptions({
        queryKey: ["webhooks", "queued", webhookId],
        queryFn: () => data(api.GET("/deliveries", { params: { query: { webhookId, status: "queued", limit: 10 } } })),
        refetchInterval: 10_000,
      }),
    /** The number of dead letters by webhook and reason. */
    deadLetters: queryOptions({
      queryKey: ["webhooks", "deadLetters"],
      queryFn: () => data(api.GET("/dead-letters")),
    }),
    deadLetterList: (query: QueryOf<"/deliveries">) =>
      list(["webhooks", "deadLetterList", query], (cursor) =>
        api.GET("/deliveries", { params: { query: { ...query, status: "dead_letter", cursor, limit: 20 } } }),
      ),
    /** The newest bulk replays of a webhook or of the store. */
    replays: (webhookId: string | undefined) =>
      queryOptions({
        queryKey: ["webhooks", "replays", webhookId],
        queryFn: () => data(api.GET("/replays", { params: { query: { webhookId, limit: 3 } } })),
        refetchInterval: 30_000,
      }),
    replay: (id: string) =>
      queryOptions({
        queryKey: ["webhooks", "replay", id],
        queryFn: () => data(api.GET("/replays/{id}", { params: { path: { id } } })),
        staleTime: 0,
        refetchInterval: ({ state }) => {
          if (state.data?.status === "running" || (state.data?.inProgress ?? 0) > 0) return 1_000;
          return (state.data?.outcomes?.retrying ?? 0) > 0 ? 10_000 : false;
        },
      }),
    /** The number of deliveries that a bulk replay would send. */
    dryRun: (request: ReplayRequest) =>
      queryOptions({
        queryKey: ["webhooks", "dryRun", request],
        queryFn: () => postReplay({ ...request, dryRun: true }),
        staleTime: 0,
        gcTime: 0,
      }),
    /** The newest events of some types, and which of them match a filter. */
    filterPreview: (filter: string, types: EventType[]) =>
      queryOptions({
        queryKey: ["webhooks", "filterPreview", filter, types],
        queryFn: () => filterRecent(filter, types),
        staleTime: Infinity,
        gcTime: 0,
      }),
    /** The events of the store, newest first. */
    events: (query: QueryOf<"/events">) =>
      list(["webhooks", "events", query], (cursor) =>
        api.GET("/events", { params: { query: { ...query, cursor, limit: 50 } } }),
      ),
    event: (id: string) =>
      queryOptions({
        queryKey: ["webhooks", "event", id],
        queryFn: () => data(api.GET("/events/{id}", { params: { path: { id } } })),
        refetchInterval: 5_000,
      }),
  },
};

export type Resource = keyof typeof queries;

/** The resources that show data of a changed resource, besides itself. */
const dependents: Partial<Record<Resource, Resource[] | "all">> = {
  apiKeys: ["stores"], // the first test key creates a sandbox
  settings: "all", // every page shows times in the store's time zone
  store: "all", // every page shows the names, languages and currencies of its views
  users: ["me", "stores"], // users can change their own role
};

const keyOf = (resource: Resource): QueryKey => [resource];

/** Reads the queries of a changed resource and its dependents again: the shown ones now, the others when shown. */
export async function invalidate(client: QueryClient, resource: Resource): Promise<void> {
  const affected = dependents[resource] ?? [];
  if (affected === "all") return client.invalidateQueries();
  await Promise.all([resource, ...affected].map((one) => client.invalidateQueries({ queryKey: keyOf(one) })));
}

/** Returns `invalidate` for the queries of the page. */
export function useInvalidate() {
  const client = useQueryClient();
  return useCallback((resource: Resource) => invalidate(client, resource), [client]);
}

/** Matches all queries of a resource, for example to remove them. */
export const allOf = (resource: Resource) => ({ queryKey: keyOf(resource) });

/** Matches the lists of orders, which an order may enter or leave. */
export const orderLists = { queryKey: ["orders", "list"] };

/** Matches the lists of payments, and their sums. */
export const paymentLists = {
  predicate: ({ queryKey: [resource, kind] }: { queryKey: QueryKey }) =>
    resource === "orders" && (kind === "payments" || kind === "paymentSums"),
};

/** Matches the queries of single orders. */
export const singleOrders = (ids: ReadonlySet<string>) => ordersOfKind("one", ids);

/** Matches the histories and payments of orders. */
export const partsOfOrders = (ids: ReadonlySet<string>) => ordersOfKind("part", ids);

const ordersOfKind = (wanted: "one" | "part", ids: ReadonlySet<string>) => ({
  predicate: ({ queryKey: [resource, kind, id] }: { queryKey: QueryKey }) =>
    resource === "orders" && kind === wanted && ids.has(String(id)),
});
