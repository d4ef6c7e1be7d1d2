import type { components } from "@comanda/client";

export type Webhook = components["schemas"]["Webhook"];
/** An event type that a webhook can subscribe to. */
export type EventType = components["schemas"]["CreateWebhookRequest"]["events"][number];
/** The selection of all event types, which stands alone. */
export const allEvents: EventType = "*";
/** Returns the event types of a selection by name: none for all of them. */
export const namedEvents = (events: EventType[]) =>
  events.filter((type): type is Exclude<EventType, "*"> => type !== allEvents);
/** Describes the selected event types of a webhook in a few words. */
export const eventsLabel = (events: EventType[]) =>
  events.includes(allEvents) ? "all event types" : events.length === 1 ? events[0]! : `${events.length} event types`;
export type Ordering = Webhook["ordering"];
/** The orders of a webhook's deliveries, each with the advice for its receiver. */
export const orderings: Record<Ordering, { label: string; advice: string }> = {
  none: {
    label: "As soon as possible",
    advice:
      "Events can arrive out of order: let your server ignore an event whose X-Webhook-Position is lower than the " +
      "highest one of its X-Webhook-Resource.",
  },
  resource: {
    label: "One at a time for each order, customer, product and reservation",
    advice:
      "Choose this if your server applies events as they arrive. An event that it rejects delays the later events of " +
      "the same order until its last retry, for hours.",
  },
};
export type Attempt = components["schemas"]["Attempt"];
/** An event type of an attempt, including test.ping. */
export type AnyEventType = Attempt["eventType"];
export type AttemptStatus = Attempt["status"];
export type Delivery = components["schemas"]["Delivery"];
export type DeliveryStats = components["schemas"]["DeliveryStats"];
export type BulkReplay = components["schemas"]["BulkReplay"];

/** The selection of a bulk replay. Only the replay of one webhook accepts missed events. */
export type ReplayRequest = components["schemas"]["ReplayWebhookRequest"] & { webhookId?: string };

type CatalogueEntry = components["schemas"]["EventTypeEntry"];

/** Reports whether webhooks can subscribe to an event type. */
export const isSubscribable = (type: CatalogueEntry): type is CatalogueEntry & { name: EventType } => type.subscribable;

/** The labels of the time spans that statistics can cover. */
export const spans = { "24h": "24 h", "7d": "7 d", "30d": "30 d" };

export type Span = keyof typeof spans;

const hour = 3_600_000;
const lengths: Record<Span, number> = { "24h": 24 * hour, "7d": 7 * 24 * hour, "30d": 30 * 24 * hour };

/** Returns the start of a span that ends now. */
export const spanStart = (span: Span) => new Date(Date.now() - lengths[span]).toISOString();
