import type { components } from "@/api/schema";
import { parseMoney } from "@/ui/format";

import type { Order } from "./status";

type Body = components["schemas"]["PlaceOrderRequest"];
type Address = components["schemas"]["DeliveryAddress"];

/** An order while somebody takes it. */
export type Draft = {
  lines: { productId: string; name: string; quantity: number }[];
  fulfillmentType: Order["fulfillmentType"];
  source: "POS" | "PHONE";
  customerId?: string;
  name: string;
  email: string;
  phone: string;
  address: Record<"line1" | "line2" | "city" | "postalCode" | "country" | "notes", string>;
  discount: string;
  note: string;
};

export const emptyDraft: Draft = {
  lines: [],
  fulfillmentType: "PICKUP",
  source: "PHONE",
  name: "",
  email: "",
  phone: "",
  address: { line1: "", line2: "", city: "", postalCode: "", country: "", notes: "" },
  discount: "",
  note: "",
};

export const maxQuantity = 999;
export const maxLines = 100;

/** The draft with one more of a product, or with that many of it; none of it takes the line out. */
export function withProduct(draft: Draft, product: { id: string; name: string }, quantity?: number): Draft {
  const line = draft.lines.find((one) => one.productId === product.id);
  const wanted = Math.min(quantity ?? (line?.quantity ?? 0) + 1, maxQuantity);
  if (wanted < 1) return { ...draft, lines: draft.lines.filter((one) => one !== line) };
  if (line) return { ...draft, lines: draft.lines.map((one) => (one === line ? { ...one, quantity: wanted } : one)) };
  if (draft.lines.length >= maxLines) return draft;
  return { ...draft, lines: [...draft.lines, { productId: product.id, name: product.name, quantity: wanted }] };
}

const given = <T extends Record<string, string>>(members: T) => Object.fromEntries(Object.entries(members).filter(([, value]) => value.trim() !== ""));

/** The request that places the order. An amount that cannot be read is left out. */
export function placing(draft: Draft, currency: string): Body {
  return {
    items: draft.lines.map(({ productId, quantity }) => ({ productId, quantity })),
    fulfillmentType: draft.fulfillmentType,
    source: draft.source,
    ...(draft.customerId
      ? { customerId: draft.customerId }
      : { customer: { name: draft.name.trim(), ...given({ email: draft.email.trim(), phone: draft.phone.replace(/[\s()/-]/g, "") }) } }),
    ...(draft.fulfillmentType === "DELIVERY" ? { deliveryAddress: given({ ...draft.address, country: draft.address.country.toUpperCase() }) as Address } : {}),
    discountMinor: parseMoney(draft.discount, currency) || undefined,
    note: draft.note.trim() || undefined,
  };
}

/**
 * The request for what the draft would cost, null as long as it has no items. Who gets it and
 * where makes no difference to that, so what has not been typed yet need not hold it up.
 */
export function quoting(draft: Draft, currency: string): Body | null {
  if (draft.lines.length === 0) return null;
  const { items, fulfillmentType, discountMinor } = placing(draft, currency);
  const delivery = fulfillmentType === "DELIVERY" ? { deliveryAddress: { line1: "-", city: "-", country: "DE" } } : {};
  return { items, fulfillmentType, discountMinor, customer: { name: "-" }, ...delivery };
}
