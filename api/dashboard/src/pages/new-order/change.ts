import type { components } from "@comanda/client";

import { parseMoney, plainMoney } from "@/domain/money";
import { type Order, describeItem, isChangeable } from "@/domain/orders";
import type { Product } from "@/domain/products";
import { dayOf, instantOf, timeOf } from "@/domain/zone";

import {
  type Draft,
  type Line,
  type Place,
  addressOf,
  addressParts,
  chosen,
  emptyDraft,
  guestOf,
  isUnchanged,
  itemOf,
  lacksTime,
} from "./draft";
import { choicesText } from "./options";

export type Change = components["schemas"]["AmendOrderRequest"];

/** An order as it was read, and the state of the form that changes it. */
export type Edit = { base: Order; draft: Draft };

/** Returns the state of the form for an order. */
export function draftOf(order: Order, timezone: string): Draft {
  const { deliveryAddress, customer, requestedFor } = order;
  const requested = requestedFor ? Date.parse(requestedFor) : undefined;
  return {
    ...emptyDraft,
    lines: order.items.map((item, i) => ({
      key: i + 1,
      item,
      productId: item.productId ?? "",
      name: item.productName,
      quantity: item.quantity,
      options: Object.fromEntries(item.options.map(({ optionId, quantity }) => [optionId, quantity])),
      note: item.note ?? "",
    })),
    fulfillmentType: order.fulfillmentType,
    keepsGuest: true,
    name: customer.name,
    email: customer.email,
    phone: customer.phone,
    address: addressOf(deliveryAddress),
    later: requested !== undefined,
    day: requested === undefined ? "" : dayOf(requested, timezone),
    time: requested === undefined ? "" : timeOf(requested, timezone),
    tableLabel: order.tableLabel ?? "",
    discount: order.discountMinor > 0 ? plainMoney(order.discountMinor, order.currency) : "",
    note: order.note ?? "",
  };
}

type Amended = NonNullable<Change["items"]>[number];

/** Returns the item of the request for a line: of a known item, only what changes. */
function amendedItem(line: Line): Amended {
  const { item, quantity, note } = line;
  if (!item) return itemOf(line);
  return {
    id: item.id,
    ...(quantity === item.quantity ? {} : { quantity }),
    ...(isUnchanged(line) ? {} : { options: chosen(line.options) }),
    ...(note.trim() === (item.note ?? "") ? {} : { note: note.trim() || null }),
  };
}

const isKept = (item: Amended) => item.id !== undefined && Object.keys(item).length === 1;

const timeText = ({ later, day, time }: Draft) => (later ? `${day} ${time}` : "");

/**
 * Returns the merge patch of an order, or null if the draft changes nothing. An incomplete time and an invalid discount
 * are omitted.
 */
export function changeRequest({ base, draft }: Edit, place: Place): Change | null {
  const before = draftOf(base, place.timezone);
  const change: Change = {};
  const items = draft.lines.map(amendedItem);
  if (items.length !== before.lines.length || !items.every(isKept)) change.items = items;
  if (draft.tableLabel.trim() !== before.tableLabel) change.tableLabel = draft.tableLabel.trim() || null;
  if (draft.note.trim() !== before.note) change.note = draft.note.trim() || null;
  if (timeText(draft) !== timeText(before) && !lacksTime(draft))
    change.requestedFor = draft.later ? instantOf(draft.day, draft.time, place.timezone) : null;
  const discount = draft.discount.trim() === "" ? 0 : parseMoney(draft.discount, base.currency);
  if (discount !== null && discount !== base.discountMinor) change.discountMinor = discount;
  const parts = addressParts.filter((part) => draft.address[part].trim() !== before.address[part]);
  if (base.deliveryAddress && parts.length > 0)
    change.deliveryAddress = Object.fromEntries(
      parts.map((part) => [part, draft.address[part].trim() || (required.has(part) ? "" : null)]),
    );
  if (!draft.keepsGuest) {
    const guest = guestOf(draft, place.country);
    if (Object.keys(guest).length > 0) Object.assign(change, guest);
    else if (base.customer.id || base.customer.name) change.customer = null;
  }
  return Object.keys(change).length > 0 ? change : null;
}

const required = new Set<string>(["line1", "city", "country"]);

/** One difference between two states of an order, for people. `key` is the item or the member that differs. */
export type Difference = { key: string; text: string };

/** Returns a line of the form in words. Options that were chosen in the form have the names of the menu. */
function lineText(line: Line, products: ReadonlyMap<string, Product>): string {
  const { item, quantity, name } = line;
  const note = line.note.trim();
  if (item && isUnchanged(line)) return describeItem({ ...item, quantity, note });
  const product = products.get(line.productId);
  const choices = product ? choicesText(product, line.options) : "";
  return `${quantity} × ${name}${choices && ` with ${choices}`}${note && ` (${note})`}`;
}

const textMembers: [string, string, (draft: Draft) => string][] = [
  ["tableLabel", "Table", ({ tableLabel }) => tableLabel.trim()],
  ["requestedFor", "Wanted", (draft) => timeText(draft) || "as soon as possible"],
  ["discount", "Discount", ({ discount }) => discount.trim()],
  ["note", "Note", ({ note }) => note.trim()],
  ["guest", "Guest", ({ name, phone, email }) => [name, phone, email].filter(Boolean).join(", ")],
  ["address", "Address", ({ address }) => addressParts.flatMap((part) => address[part].trim() || []).join(", ")],
];

const lineKey = ({ item, key }: Line) => item?.id ?? `new ${key}`;

/** Returns what differs between two states of an order, in words: "Added: 1 × Beer", "Table: 4 → 5". */
export function differences(before: Draft, after: Draft, products: ReadonlyMap<string, Product>): Difference[] {
  const found: Difference[] = [];
  const left = new Map(after.lines.map((line) => [lineKey(line), line]));
  for (const line of before.lines) {
    const key = lineKey(line);
    const now = left.get(key);
    left.delete(key);
    const [was, is] = [lineText(line, products), now && lineText(now, products)];
    if (is === undefined) found.push({ key, text: `Removed: ${was}` });
    else if (is !== was || !sameOptions(line, now!)) found.push({ key, text: `Changed: ${was} → ${is}` });
  }
  for (const [key, line] of left) found.push({ key, text: `Added: ${lineText(line, products)}` });
  for (const [key, label, text] of textMembers) {
    const [was, is] = [text(before), text(after)];
    if (key === "guest" && after.customerId) found.push({ key, text: "Guest: another known customer" });
    else if (was !== is) found.push({ key, text: `${label}: ${was || "none"} → ${is || "none"}` });
  }
  return found;
}

const sameOptions = (a: Line, b: Line) => {
  const text = (line: Line) =>
    JSON.stringify(chosen(line.options).toSorted((x, y) => (x.optionId < y.optionId ? -1 : 1)));
  return text(a) === text(b);
};

/** Moves the user's changes to a newer state of the order. What the user has not changed gets its current value. */
export function rebase({ base, draft: mine }: Edit, current: Order, timezone: string): Edit {
  const [before, now] = [draftOf(base, timezone), draftOf(current, timezone)];
  const known = new Map(before.lines.map((line) => [line.item!.id, line]));
  const present = new Map(now.lines.map((line) => [line.item!.id, line]));
  const lines = mine.lines.flatMap((line): Line[] => {
    if (!line.item) return [line];
    const [was, is] = [known.get(line.item.id)!, present.get(line.item.id)];
    const changed = lineText(line, noProducts) !== lineText(was, noProducts) || !sameOptions(line, was);
    // Another user has removed it. A line without a product cannot be added again.
    if (!is) return changed && line.productId ? [{ ...line, item: undefined }] : [];
    return [
      {
        ...is,
        key: line.key,
        quantity: line.quantity === was.quantity ? is.quantity : line.quantity,
        note: line.note === was.note ? is.note : line.note,
        options: sameOptions(line, was) ? is.options : line.options,
      },
    ];
  });
  const next = 1 + Math.max(0, ...lines.map(({ key }) => key));
  const added = now.lines.filter(({ item }) => !known.has(item!.id)).map((line, i) => ({ ...line, key: next + i }));
  const keep = <K extends keyof Draft>(member: K) => (mine[member] === before[member] ? now[member] : mine[member]);
  const { later, day, time } = timeText(mine) === timeText(before) ? now : mine;
  const { name, email, phone } = mine.keepsGuest ? now : mine;
  const address = Object.fromEntries(
    addressParts.map((part) => [part, (mine.address[part] === before.address[part] ? now : mine).address[part]]),
  ) as Draft["address"];
  return {
    base: current,
    draft: {
      ...mine,
      ...{ lines: [...lines, ...added], later, day, time, name, email, phone, address },
      tableLabel: keep("tableLabel"),
      discount: keep("discount"),
      note: keep("note"),
    },
  };
}

const noProducts: ReadonlyMap<string, Product> = new Map();

/** Returns what another user has changed since an edit began. Such a change waits for the user's decision. */
export function theirChanges({ base }: Edit, current: Order, timezone: string): Difference[] {
  if (current.version <= base.version) return [];
  const found = differences(draftOf(base, timezone), draftOf(current, timezone), noProducts);
  const money = (minor: number) => plainMoney(minor, base.currency);
  const change = (was: number, is: number) => `${money(was)} → ${money(is)}`;
  for (const { id, productName, unitPriceMinor } of base.items) {
    const now = current.items.find((item) => item.id === id)?.unitPriceMinor ?? unitPriceMinor;
    if (now === unitPriceMinor) continue;
    const price = change(unitPriceMinor, now);
    const at = found.findIndex(({ key }) => key === id);
    if (at < 0) found.push({ key: id, text: `Price of ${productName}: ${price}` });
    else found[at] = { key: id, text: `${found[at]!.text}, price: ${price}` };
  }
  if (current.deliveryFeeMinor !== base.deliveryFeeMinor)
    found.push({
      key: "deliveryFee",
      text: `Delivery fee: ${change(base.deliveryFeeMinor, current.deliveryFeeMinor)}`,
    });
  return found;
}

/** Returns the edit on the newest state of its order, unless another user has changed what the form shows. */
export function follow(edit: Edit, current: Order, timezone: string): Edit {
  if (current.version <= edit.base.version || !isChangeable(current)) return edit;
  return theirChanges(edit, current, timezone).length > 0 ? edit : rebase(edit, current, timezone);
}
