import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { api, data } from "@/api/client";
import type { components } from "@/api/schema";

export type Webhook = components["schemas"]["Webhook"];
/** What a webhook can ask for. */
export type EventType = components["schemas"]["CreateWebhookRequest"]["events"][number];
export type Attempt = components["schemas"]["Attempt"];
/** What can be delivered: tests too. */
export type AnyEventType = Attempt["eventType"];
export type AttemptStatus = Attempt["status"];
export type Delivery = components["schemas"]["Delivery"];
export type DeliveryStats = components["schemas"]["DeliveryStats"];
export type BulkReplay = components["schemas"]["BulkReplay"];

/** Everything about webhooks has a key that begins so, to be asked for anew after a change. */
export const webhooksKey = ["webhooks"] as const;

export const webhookListKey = [...webhooksKey, "all"] as const;

/** All webhooks of the store, and after how many days the watchdog gives one up. */
export type WebhookList = { data: Webhook[]; meta: { total: number; watchdogDays: number; requestId: string } };

export const useWebhooks = () =>
  useQuery<WebhookList>({ queryKey: webhookListKey, queryFn: async () => (await api.GET("/webhooks")).data!, refetchInterval: 30_000 });

export const useWebhook = (id: string) =>
  useQuery({ queryKey: [...webhooksKey, id], queryFn: () => data(api.GET("/webhooks/{id}", { params: { path: { id } } })), refetchInterval: 15_000 });

export const useEventTypes = () =>
  useQuery({ queryKey: ["event-types"], queryFn: () => data(api.GET("/webhooks/event-types")), staleTime: Infinity });

type CatalogueEntry = components["schemas"]["EventTypeEntry"];

/** Whether a webhook can ask for it. */
export const isSubscribable = (type: CatalogueEntry): type is CatalogueEntry & { name: EventType } => type.subscribable;

/** The spans of the plots. */
export const spans = { "24h": "24 h", "7d": "7 d", "30d": "30 d" };

export type Span = keyof typeof spans;

const hour = 3_600_000;
const lengths: Record<Span, number> = { "24h": 24 * hour, "7d": 7 * 24 * hour, "30d": 30 * 24 * hour };

/** When a span began that ends now. */
export const beginOf = (span: Span) => new Date(Date.now() - lengths[span]).toISOString();

export const useStats = (id: string, span: Span, enabled = true) =>
  useQuery({
    queryKey: [...webhooksKey, id, "stats", span],
    queryFn: () => data(api.GET("/webhooks/{id}/stats", { params: { path: { id }, query: { from: beginOf(span) } } })),
    refetchInterval: 60_000,
    staleTime: 30_000,
    enabled,
    placeholderData: keepPreviousData,
  });

/** The header with which a change is refused if somebody else has changed the webhook meanwhile. */
export const ifMatch = (webhook: Webhook) => ({ "If-Match": `"${webhook.version}"` });
