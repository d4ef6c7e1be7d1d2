import type { components } from "@comanda/client";
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { api, data } from "@/api/client";

export type Webhook = components["schemas"]["Webhook"];
/** An event type that a webhook can subscribe to. */
export type EventType = components["schemas"]["CreateWebhookRequest"]["events"][number];
export type Attempt = components["schemas"]["Attempt"];
/** An event type of an attempt, including test.ping. */
export type AnyEventType = Attempt["eventType"];
export type AttemptStatus = Attempt["status"];
export type Delivery = components["schemas"]["Delivery"];
export type DeliveryStats = components["schemas"]["DeliveryStats"];
export type BulkReplay = components["schemas"]["BulkReplay"];

/** The prefix of all query keys about webhooks; a change invalidates all of them. */
export const webhooksKey = ["webhooks"] as const;

export const webhookListKey = [...webhooksKey, "all"] as const;

/** The webhooks of the store, and the number of failing days after which the watchdog turns a webhook off. */
export type WebhookList = { data: Webhook[]; meta: { total: number; watchdogDays: number; requestId: string } };

export const useWebhooks = () =>
  useQuery<WebhookList>({
    queryKey: webhookListKey,
    queryFn: () => api.GET("/webhooks"),
    refetchInterval: 30_000,
  });

export const useWebhook = (id: string) =>
  useQuery({
    queryKey: [...webhooksKey, id],
    queryFn: () => data(api.GET("/webhooks/{id}", { params: { path: { id } } })),
    refetchInterval: 15_000,
  });

export const useEventTypes = () =>
  useQuery({ queryKey: ["event-types"], queryFn: () => data(api.GET("/webhooks/event-types")), staleTime: Infinity });

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

export const useStats = (id: string, span: Span, enabled = true) =>
  useQuery({
    queryKey: [...webhooksKey, id, "stats", span],
    queryFn: () =>
      data(api.GET("/webhooks/{id}/stats", { params: { path: { id }, query: { from: spanStart(span) } } })),
    refetchInterval: 60_000,
    staleTime: 30_000,
    enabled,
    placeholderData: keepPreviousData,
  });

/** The dead letters of the store by webhook and reason. */
export const useDeadLetters = (options: { enabled?: boolean; refetchInterval: number }) =>
  useQuery({
    queryKey: [...webhooksKey, "dead-letters"],
    queryFn: () => data(api.GET("/dead-letters")),
    ...options,
  });

/** Returns the header that makes a change fail if the webhook has changed since it was loaded. */
export const ifMatch = (webhook: Webhook) => ({ "If-Match": `"${webhook.version}"` });
