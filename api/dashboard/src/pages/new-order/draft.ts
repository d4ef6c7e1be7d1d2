import type { ComandaError, components } from "@comanda/client";

import * as limits from "@/api/limits";
import { parseMoney } from "@/domain/money";
import type { Order } from "@/domain/orders";
import type { Product } from "@/domain/products";
import { instantOf } from "@/domain/zone";
import { internationalPhone } from "@/ui/phone";

import type { Chosen } from "./options";

type Body = components["schemas"]["PlaceOrderRequest"];
type Address = components["schemas"]["DeliveryAddress"];

type Item = Order["items"][number];

/** One line of the form for an order. The key identifies it while the user edits the order. */
export type Line = {
  key: number;
  /** The item of a placed order that the line changes. */
  item?: Item;
  productId: string;
  name: string;
  quantity: number;
  options: Chosen;
  note: string;
};

/** The state of the form for an order: a new one, or one that is changed. */
export type Draft = {
  lines: Line[];
  fulfillmentType: Order["fulfillmentType"];
  source: "POS" | "PHONE";
  customerId?: string;
  /** Whether a placed order keeps its guest, of whom the draft has the name, the email and the phone number. */
  keepsGuest?: boolean;
  name: string;
  email: string;
  phone: string;
  address: Record<AddressPart, string>;
  /** Whether the guest wants the order at `day` and `time`, in the store's time zone. */
  later: boolean;
  day: string;
  time: string;
  tableLabel: string;
  discount: string;
  /** The loyalty points to redeem, for a known customer. */
  points: string;
  note: string;
};

/** The place of a store: its country and time zone complete phone numbers and times. */
export type Place = { country: string; timezone: string };

/** The view in which an order is placed, if it is known, and its currency. */
export type View = { id?: string; currency: string };

export const addressParts = ["line1", "line2", "city", "region", "postalCode", "country", "notes"] as const;
type AddressPart = (typeof addressParts)[number];

/** Returns a known address in the form, where members that it lacks are empty. */
export const addressOf = (known?: Partial<Record<AddressPart, string | null>> | null) =>
  Object.fromEntries(addressParts.map((part) => [part, known?.[part] ?? ""])) as Draft["address"];

export const emptyDraft: Draft = {
  lines: [],
  fulfillmentType: "PICKUP",
  source: "PHONE",
  name: "",
  email: "",
  phone: "",
  address: addressOf(),
  later: false,
  day: "",
  time: "",
  tableLabel: "",
  discount: "",
  points: "",
  note: "",
};

export const maxQuantity = limits.OrderItemRequest.quantity.max;
export const maxLines = limits.PlaceOrderRequest.items.maxItems;

/** Returns a line for one unit of a product, with a key that no line of the draft has. */
export const newLine = (draft: Draft, product: { id: string; name: string }, options: Chosen = {}): Line => ({
  key: 1 + Math.max(0, ...draft.lines.map((line) => line.key)),
  productId: product.id,
  name: product.name,
  quantity: 1,
  options,
  note: "",
});

/** Returns the draft with a new or changed line. Quantity 0 removes the line. */
export function withLine(draft: Draft, line: Line): Draft {
  const quantity = Math.min(line.quantity, maxQuantity);
  if (quantity < 1) return { ...draft, lines: draft.lines.filter((one) => one.key !== line.key) };
  const changed = { ...line, quantity };
  if (draft.lines.some((one) => one.key === line.key))
    return { ...draft, lines: draft.lines.map((one) => (one.key === line.key ? changed : one)) };
  return draft.lines.length >= maxLines ? draft : { ...draft, lines: [...draft.lines, changed] };
}

/** Returns the draft with one more of a product without options: on its line without a note, or on a new line. */
export function withProduct(draft: Draft, product: { id: string; name: string }): Draft {
  const plain = (one: Line) => one.note.trim() === "" && chosen(one.options).length === 0;
  const line = draft.lines.find((one) => one.productId === product.id && plain(one));
  return withLine(draft, line ? { ...line, quantity: line.quantity + 1 } : newLine(draft, product));
}

const given = <T extends Record<string, string>>(members: T) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value.trim() !== ""));

/** Returns the chosen options as the API takes them. */
export const chosen = (options: Chosen) =>
  Object.entries(options)
    .filter(([, quantity]) => quantity > 0)
    .map(([optionId, quantity]) => ({ optionId, quantity }));

/** Returns the points to redeem, or undefined if there are none. Guests have no points. */
const pointsOf = ({ customerId, points }: Draft) => (customerId && Number(points)) || undefined;

/** Reports whether a line has the options of its item of a placed order. Such an item keeps its price. */
export function isUnchanged({ item, options }: Line): boolean {
  const now = chosen(options);
  return (
    !!item && now.length === item.options.length && item.options.every((one) => options[one.optionId] === one.quantity)
  );
}

/** Returns the item of the request for a new line. */
export const itemOf = ({ productId, quantity, options, note }: Line): Body["items"][number] => {
  const wanted = chosen(options);
  return {
    productId,
    quantity,
    ...(wanted.length > 0 ? { options: wanted } : {}),
    ...(note.trim() ? { note: note.trim() } : {}),
  };
};

/** Reports whether the time of an order for later is incomplete. */
export const lacksTime = ({ later, day, time }: Draft) => later && (day === "" || time === "");

/** Returns the members of the request that name the customer or the guest. A walk-in has neither. */
export function guestOf(draft: Draft, country: string): Pick<Body, "customerId" | "customer"> {
  if (draft.customerId) return { customerId: draft.customerId };
  const name = draft.name.trim();
  if (!name && !needsGuest(draft)) return {};
  return {
    customer: { name, ...given({ email: draft.email.trim(), phone: internationalPhone(draft.phone, country) }) },
  };
}

/** Reports whether the order needs the name of a guest: a delivery does, and a guest who leaves contact details. */
export const needsGuest = ({ fulfillmentType, email, phone }: Draft) =>
  fulfillmentType === "DELIVERY" || email.trim() !== "" || phone.trim() !== "";

/**
 * Returns the request that places the order. An invalid discount is omitted.
 */
export function placeRequest(draft: Draft, view: View, { country, timezone }: Place): Body {
  return {
    storeViewId: view.id,
    items: draft.lines.map(itemOf),
    fulfillmentType: draft.fulfillmentType,
    source: draft.source,
    ...guestOf(draft, country),
    ...(draft.fulfillmentType === "DELIVERY"
      ? { deliveryAddress: given({ ...draft.address, country: draft.address.country || country }) as Address }
      : {}),
    ...(draft.fulfillmentType === "DINE_IN" ? given({ tableLabel: draft.tableLabel.trim() }) : {}),
    requestedFor: draft.later && !lacksTime(draft) ? instantOf(draft.day, draft.time, timezone) : undefined,
    discountMinor: parseMoney(draft.discount, view.currency) || undefined,
    loyaltyPoints: pointsOf(draft),
    note: draft.note.trim() || undefined,
  };
}

/**
 * Returns the request for the price of the draft, or null if it has no items. The price does not
 * depend on the address and, without points, on the customer, so placeholders are sent for them.
 */
export function quoteRequest(draft: Draft, view: View, place: Place): Body | null {
  if (draft.lines.length === 0) return null;
  const { storeViewId, items, fulfillmentType, discountMinor, loyaltyPoints, requestedFor } = placeRequest(
    draft,
    view,
    place,
  );
  const isDelivery = fulfillmentType === "DELIVERY";
  const delivery = isDelivery ? { deliveryAddress: { line1: "-", city: "-", country: "DE" } } : {};
  const guest = isDelivery ? { customer: { name: "-" } } : {};
  const customer = loyaltyPoints ? { customerId: draft.customerId } : guest;
  return { storeViewId, items, fulfillmentType, discountMinor, loyaltyPoints, requestedFor, ...customer, ...delivery };
}

/** Returns the errors of lines that were sent in a refused request, by key of the line. */
export function lineErrors(
  error: ComandaError | undefined,
  lines: Line[],
  products: Map<string, Pick<Product, "stockQuantity">>,
): Map<number, string> {
  const errors = new Map<number, string>();
  for (const { path, message } of error?.details ?? []) {
    const [, index, member] = /^items\[(\d+)\]\.([a-z]+)/i.exec(path) ?? [];
    const line = lines[Number(index)];
    if (!line) continue;
    const left = products.get(line.productId)?.stockQuantity;
    if (error!.code === "PRODUCT_UNAVAILABLE" && member === "quantity" && left)
      errors.set(line.key, `Only ${left} left. Reduce the quantity.`);
    else if (error!.code === "PRODUCT_UNAVAILABLE") errors.set(line.key, "Not available now. Remove this item.");
    else if (error!.code === "OPTION_INVALID") errors.set(line.key, "Choose the options of this item again.");
    else errors.set(line.key, `This item ${message}.`);
  }
  return errors;
}
