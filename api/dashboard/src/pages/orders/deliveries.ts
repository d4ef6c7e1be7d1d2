import type { components } from "@comanda/client";

import type { Tone } from "@/domain/tone";

export type Delivery = components["schemas"]["OrderDelivery"];

/** The labels of the events of an order, as staff reads them. */
export const eventLabels: Partial<Record<Delivery["eventType"], string>> = {
  "order.created": "New order",
  "order.updated": "Change",
  "order.status_updated": "Status change",
  "order.completed": "Completion",
  "order.cancelled": "Cancellation",
  "payment.succeeded": "Payment",
  "payment.failed": "Failed payment",
  "payment.refunded": "Refund",
};

/** Returns the name of a webhook: its description or, if it has none, the end of its id. */
export const webhookName = ({ id, description }: Delivery["webhook"]) => description || `Webhook …${id.slice(-6)}`;

export type Group = { webhook: Delivery["webhook"]; deliveries: Delivery[] };

/** Groups deliveries by webhook and keeps their order. */
export function byWebhook(deliveries: Delivery[]): Group[] {
  const groups = new Map<string, Group>();
  for (const delivery of deliveries) {
    const group = groups.get(delivery.webhook.id) ?? { webhook: delivery.webhook, deliveries: [] };
    group.deliveries.push(delivery);
    groups.set(delivery.webhook.id, group);
  }
  return [...groups.values()];
}

export type DeliveryState = {
  state: "delivered" | "sending" | "retrying" | "failed";
  /** The webhooks to which an event is not delivered. */
  missing: string[];
  nextRetryAt?: string;
};

/** Returns the state of the deliveries of an order's events to all webhooks; undefined if it has none. */
export function deliveryStateOf(deliveries: Delivery[]): DeliveryState | undefined {
  const counted = deliveries.filter(({ status }) => status !== "cancelled");
  if (counted.length === 0) return undefined;
  const open = counted.filter(({ status }) => status !== "delivered");
  const missing = [...new Set(open.map(({ webhook }) => webhookName(webhook)))];
  const nextRetryAt = open.flatMap((delivery) => delivery.nextRetryAt ?? []).toSorted()[0];
  if (open.some(({ status }) => status === "dead_letter")) return { state: "failed", missing };
  if (open.some(({ status }) => status === "retrying")) return { state: "retrying", missing, nextRetryAt };
  return { state: open.length > 0 ? "sending" : "delivered", missing };
}

export const stateTones: Record<DeliveryState["state"], Tone> = {
  delivered: "good",
  sending: "neutral",
  retrying: "warn",
  failed: "bad",
};
