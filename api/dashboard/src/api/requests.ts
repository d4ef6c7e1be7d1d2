// Requests that are more than one call of the API, or that several callers need.
import { type components, paginate } from "@comanda/client";

import type { FilteredEvent } from "@/domain/events";
import { openStatuses } from "@/domain/orders";
import type { MenuNames } from "@/domain/products";
import { extendsBeyond, holdsSeats } from "@/domain/reservations";
import { type EventType, type ReplayRequest, namedEvents } from "@/domain/webhooks";

import { api, collect, data } from "./client";
import { TestWebhookFilterRequest } from "./limits";

/** Reads a product with its own texts instead of those of a view. */
export const ownProduct = (id: string) =>
  data(api.GET("/products/{id}", { params: { path: { id }, query: { own: true } } }));

/** Reads all products of a category or of the store, in the order of the menu. */
export const menuOf = (category: string | undefined) =>
  collect(paginate(api, "/products", { params: { query: { category, own: true, sort: "position" } } }));

/** Reads the names of all products and options in a view. */
export async function menuNames(storeViewId: string | undefined): Promise<MenuNames> {
  const names: MenuNames = new Map();
  for await (const product of paginate(api, "/products", { params: { query: { storeViewId, sort: "position" } } })) {
    names.set(product.id, product.name);
    for (const { options } of product.optionGroups) for (const option of options) names.set(option.id, option.name);
  }
  return names;
}

/** Reads the reservations of a day, and those from the previous day that still occupy seats. */
export async function reservationsOf(day: string, signal: AbortSignal) {
  const all = await collect(paginate(api, "/reservations", { params: { query: { overlapsDate: day } }, signal }));
  return all.filter((one) => holdsSeats(one) || !extendsBeyond(one, day).before);
}

/** Reads the first open orders and reservations of a customer. */
export async function openOfCustomer(customerId: string, limit: number) {
  const [orders, reservations] = await Promise.all([
    data(api.GET("/orders", { params: { query: { customerId, status: [...openStatuses], limit } } })),
    data(api.GET("/reservations", { params: { query: { customerId, status: ["PENDING", "CONFIRMED"], limit } } })),
  ]);
  return { orders, reservations };
}

/** Reads the parts of the active store, for an ADMIN or an OWNER. */
export async function setUpParts(owner: boolean) {
  const one = { params: { query: { limit: 1 } } };
  const two = { params: { query: { limit: 2 } } };
  const [settings, products, webhooks, orders, users, invitations, apiKeys] = await Promise.all([
    data(api.GET("/settings")),
    data(api.GET("/products", { params: { query: { limit: 100 } } })),
    data(api.GET("/webhooks")),
    data(api.GET("/orders", one)),
    owner ? data(api.GET("/users", two)) : undefined,
    owner ? data(api.GET("/invitations", one)) : undefined,
    owner ? data(api.GET("/api-keys", one)) : undefined,
  ]);
  return {
    settingsVersion: settings.version,
    openSpans: Object.values(settings.openingHours ?? {}).flatMap((week) => Object.values(week).flat()).length,
    products: products.length,
    taxRatePpm: settings.taxRatePpm,
    taxedProducts: products.filter(({ taxRatePpm }) => taxRatePpm).length,
    users: users && users.length + (invitations?.length ?? 0),
    webhooks: webhooks.length,
    apiKeys: apiKeys?.length,
    orders: orders.length,
  };
}

/** Sends a bulk replay or a dry run. Only the replay of one webhook accepts missed events. */
export const postReplay = ({ webhookId, ...body }: ReplayRequest, idempotencyKey?: string) => {
  const header = idempotencyKey === undefined ? {} : { "Idempotency-Key": idempotencyKey };
  return data(
    webhookId !== undefined && body.status === "missed"
      ? api.POST("/webhooks/{id}/replay", { params: { path: { id: webhookId }, header }, body })
      : api.POST("/replays", {
          params: { header },
          body: { ...body, webhookId } as components["schemas"]["ReplayStoreRequest"],
        }),
  );
};

/** The number of events for which filterRecent evaluates a filter. The API tests at most as many. */
export const recentEvents = TestWebhookFilterRequest.eventIds.maxItems;

/** Evaluates a filter for the newest events of some types. */
export async function filterRecent(filter: string, types: EventType[]): Promise<FilteredEvent[]> {
  const query = { type: namedEvents(types), limit: recentEvents };
  const events = await data(api.GET("/events", { params: { query } }));
  if (events.length === 0) return [];
  const eventIds = events.map(({ id }) => id);
  const { results } = await data(api.POST("/webhooks/filter-test", { body: { filter, eventIds } }));
  const of = new Map(results.map((result) => [result.eventId, result]));
  return events.flatMap((event) => {
    const result = of.get(event.id);
    return result ? [{ event, matches: result.matches, error: result.error }] : [];
  });
}
