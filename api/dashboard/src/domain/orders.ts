import type { components } from "@comanda/client";

import type { Tone } from "./tone";

export type Order = components["schemas"]["Order"];
export type Status = Order["status"];

/** The label of each status, in the order of the workflow. */
export const statuses: Record<Status, string> = {
  RECEIVED: "Received",
  CONFIRMED: "Confirmed",
  PREPARING: "Preparing",
  READY: "Ready",
  OUT_FOR_DELIVERY: "Out for delivery",
  COMPLETED: "Completed",
  CANCELLED: "Cancelled",
};

/** The label of the action that moves an order to a status. */
export const actionLabels: Record<Status, string> = {
  RECEIVED: "Receive",
  CONFIRMED: "Confirm",
  PREPARING: "Start preparing",
  READY: "Mark ready",
  OUT_FOR_DELIVERY: "Send out",
  COMPLETED: "Complete",
  CANCELLED: "Cancel",
};

/** The statuses of open orders: the columns of the board. */
export const openStatuses = [
  "RECEIVED",
  "CONFIRMED",
  "PREPARING",
  "READY",
  "OUT_FOR_DELIVERY",
] as const satisfies Status[];

const open = new Set<Status>(openStatuses);

/** Reports whether a state of an order is later than another one. A tick or a slip changes updatedAt only. */
export const isNewer = (order: Order, than: Order) =>
  order.version > than.version || (order.version === than.version && order.updatedAt > than.updatedAt);

/** Reports whether items, table, guest and note of an order can still be changed. */
export const isChangeable = ({ status }: Pick<Order, "status">) =>
  status === "RECEIVED" || status === "CONFIRMED" || status === "PREPARING" || status === "READY";

export const isOpen = (order: Pick<Order, "status">) => open.has(order.status);

export const statusTone = (status: Status): Tone =>
  (
    ({
      RECEIVED: "accent",
      CONFIRMED: "neutral",
      PREPARING: "warn",
      READY: "good",
      OUT_FOR_DELIVERY: "good",
      COMPLETED: "neutral",
      CANCELLED: "bad",
    }) as const
  )[status];

export const fulfillments: Record<Order["fulfillmentType"], string> = {
  DINE_IN: "Dine in",
  PICKUP: "Pickup",
  DELIVERY: "Delivery",
};

export type FulfillmentType = Order["fulfillmentType"];

export const fulfillmentTypes = Object.keys(fulfillments) as FulfillmentType[];

export const sources: Record<Order["source"], string> = {
  WEB: "Web",
  MOBILE: "Mobile",
  POS: "Counter",
  PHONE: "Phone",
  API: "API",
};

/** The sales channel of an order, otherwise the kind of system with which it was placed. */
export const channelOf = ({ channel, source }: Pick<Order, "channel" | "source">) => channel ?? sources[source];

export const payments: Record<Order["paymentStatus"], { label: string; tone: Tone }> = {
  UNPAID: { label: "Unpaid", tone: "neutral" },
  PARTIALLY_PAID: { label: "Partly paid", tone: "warn" },
  PAID: { label: "Paid", tone: "good" },
  PARTIALLY_REFUNDED: { label: "Partly refunded", tone: "warn" },
  REFUNDED: { label: "Refunded", tone: "neutral" },
};

/** Returns the next status that the user can set, or undefined if there is none. */
export const nextStatus = (order: Pick<Order, "allowedTransitions">) =>
  order.allowedTransitions.find((status) => status !== "CANCELLED");

/** Returns the statuses after the next one that the user can set directly. */
export const laterStatuses = (order: Pick<Order, "allowedTransitions">) =>
  order.allowedTransitions.filter((status) => status !== "CANCELLED").slice(1);

export type OpenStatus = (typeof openStatuses)[number];

/** Groups open orders by status, oldest first. All times have the same format, so their order is that of the texts. */
export function columnsOf(orders: Order[]): Record<OpenStatus, Order[]> {
  const columns = Object.fromEntries(openStatuses.map((status) => [status, [] as Order[]])) as Record<
    OpenStatus,
    Order[]
  >;
  for (const order of orders) if (isOpen(order)) columns[order.status as OpenStatus].push(order);
  for (const column of Object.values(columns))
    column.sort((a, b) =>
      a.createdAt === b.createdAt ? Number(a.orderId) - Number(b.orderId) : a.createdAt < b.createdAt ? -1 : 1,
    );
  return columns;
}

/** Formats the time since an instant, for example "2 h 30 min". */
export function formatAge(at: string, now: number): string {
  const minutes = Math.max(0, Math.floor((now - Date.parse(at)) / 60_000));
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d`;
}

/** Reports whether the promised time of an order has passed, or comes within a number of minutes. */
export function urgencyOf(promisedAt: string, now: number, warnMinutes: number): "normal" | "soon" | "late" {
  const left = (Date.parse(promisedAt) - now) / 60_000;
  return left <= 0 ? "late" : left <= warnMinutes ? "soon" : "normal";
}

/** Reports whether an order is for later: its preparation has neither started nor is it due. */
export const isScheduled = ({ status, dueAt }: Pick<Order, "status" | "dueAt">, now: number) =>
  !!dueAt && (status === "RECEIVED" || status === "CONFIRMED") && Date.parse(dueAt) > now;

type Actor = components["schemas"]["OrderActor"];

const unnamedActors: Record<string, string> = {
  tenant: "a user",
  "api-key": "an API key",
  customer: "the guest",
  "platform-admin": "the platform",
};

/** Returns "by" and the actor of a status change: its name if known, otherwise its kind. */
export function actorLabel({ realm, name }: Actor): string {
  if (!realm) return "by Comanda";
  if (!name) return `by ${unnamedActors[realm] ?? realm}`;
  return realm === "api-key" ? `by the API key ${name}` : `by ${name}`;
}

export type ItemChange = components["schemas"]["ItemChange"];

type Item = Order["items"][number];

/** Returns the options of one unit of an item as a text: "Large, 2× Cheese". */
export const optionsText = (options: Item["options"]) =>
  options.map((one) => (one.quantity > 1 ? `${one.quantity}× ${one.name}` : one.name)).join(", ");

/** Returns an item in one line: "2 × Pizza with Large, 2× Cheese (well done)". */
export function describeItem({
  quantity,
  productName,
  options,
  note,
}: Pick<Item, "quantity" | "productName" | "options" | "note">): string {
  const chosen = optionsText(options);
  return `${quantity} × ${productName}${chosen && ` with ${chosen}`}${note ? ` (${note})` : ""}`;
}

/** Describes a change of an item in one line: "Added: 1 × Beer". */
export function describeItemChange({ action, before, after }: ItemChange): string {
  const [was, is] = [before ? describeItem(before) : "", after ? describeItem(after) : ""];
  if (action === "ADDED") return `Added: ${is}`;
  if (action === "REMOVED") return `Removed: ${was}`;
  return `Changed: ${was} → ${is}`;
}

/** The words for the members of an order that a change can name, apart from its items. */
const members: Record<string, string> = {
  tableLabel: "table",
  note: "note",
  deliveryAddress: "delivery address",
  requestedFor: "requested time",
  customer: "guest",
  customerId: "guest",
  discountMinor: "discount",
  deliveryFeeMinor: "delivery fee",
};

/** Names the changed members of an order in words, without its items: "Table and note changed". */
export function describeFields(changed: string[]): string {
  const names = [...new Set(changed.flatMap((name) => members[name] ?? []))];
  if (names.length === 0) return changed.includes("items") ? "Items changed" : "Order changed";
  const text = new Intl.ListFormat("en").format(changed.includes("items") ? ["items", ...names] : names);
  return `${text.charAt(0).toUpperCase()}${text.slice(1)} changed`;
}
