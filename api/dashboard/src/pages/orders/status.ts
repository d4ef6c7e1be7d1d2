import type { components } from "@/api/schema";
import type { Tone } from "@/ui/page";

export type Order = components["schemas"]["Order"];
export type Status = Order["status"];

/** The statuses in the order in which an order takes them. */
export const statuses: Record<Status, string> = {
  RECEIVED: "Received",
  CONFIRMED: "Confirmed",
  PREPARING: "Preparing",
  READY: "Ready",
  OUT_FOR_DELIVERY: "Out for delivery",
  COMPLETED: "Completed",
  CANCELLED: "Cancelled",
};

/** What one does to bring an order there. */
export const deeds: Record<Status, string> = {
  RECEIVED: "Receive",
  CONFIRMED: "Confirm",
  PREPARING: "Start preparing",
  READY: "Mark ready",
  OUT_FOR_DELIVERY: "Send out",
  COMPLETED: "Complete",
  CANCELLED: "Cancel",
};

/** The columns of the board: what somebody still has to do something about. */
export const open = ["RECEIVED", "CONFIRMED", "PREPARING", "READY", "OUT_FOR_DELIVERY"] as const satisfies Status[];

export const statusTone = (status: Status): Tone =>
  ({ RECEIVED: "accent", CONFIRMED: "neutral", PREPARING: "warn", READY: "good", OUT_FOR_DELIVERY: "good", COMPLETED: "neutral", CANCELLED: "bad" } as const)[status];

export const fulfillments: Record<Order["fulfillmentType"], string> = { DINE_IN: "Dine in", PICKUP: "Pickup", DELIVERY: "Delivery" };
export const sources: Record<Order["source"], string> = { WEB: "Web", MOBILE: "Mobile", POS: "Counter", PHONE: "Phone", API: "API" };

export const payments: Record<Order["paymentStatus"], { label: string; tone: Tone }> = {
  UNPAID: { label: "Unpaid", tone: "neutral" },
  PARTIALLY_PAID: { label: "Partly paid", tone: "warn" },
  PAID: { label: "Paid", tone: "good" },
  PARTIALLY_REFUNDED: { label: "Partly refunded", tone: "warn" },
  REFUNDED: { label: "Refunded", tone: "neutral" },
};

/** The next step of an order, undefined when it has none or somebody else takes it. */
export const nextOf = (order: Pick<Order, "allowedTransitions">) => order.allowedTransitions.find((status) => status !== "CANCELLED");

/** The further steps to which an order may be taken at once. */
export const laterOf = (order: Pick<Order, "allowedTransitions">) => order.allowedTransitions.filter((status) => status !== "CANCELLED").slice(1);

/** The open orders of each column, the oldest first: who has waited longest comes next. */
export function columnsOf(orders: Order[]): Record<(typeof open)[number], Order[]> {
  const columns = Object.fromEntries(open.map((status) => [status, [] as Order[]])) as Record<(typeof open)[number], Order[]>;
  for (const order of orders) {
    if (Object.hasOwn(columns, order.status)) columns[order.status as (typeof open)[number]].push(order);
  }
  for (const column of Object.values(columns)) column.sort((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt) || Number(a.orderId) - Number(b.orderId));
  return columns;
}

/** How long ago something was, in a few characters. */
export function ago(at: string, now: number): string {
  const minutes = Math.max(0, Math.floor((now - Date.parse(at)) / 60_000));
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d`;
}

type Actor = components["schemas"]["OrderActor"];

const nameless: Record<string, string> = { tenant: "a user", "api-key": "an API key", customer: "the guest", "platform-admin": "the platform" };

/** Who did it: a user's name, an API key's, else what sort of somebody. */
export function byWhom({ realm, name }: Actor): string {
  if (!realm) return "by Comanda itself";
  if (!name) return `by ${nameless[realm] ?? realm}`;
  return realm === "api-key" ? `by the API key ${name}` : `by ${name}`;
}
