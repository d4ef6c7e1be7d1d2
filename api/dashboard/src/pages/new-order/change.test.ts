import { expect, test } from "vitest";

import type { Order } from "@/domain/orders";

import { type Edit, changeRequest, differences, draftOf, follow, rebase, theirChanges } from "./change";
import { newLine, withLine, withProduct } from "./draft";

const zone = "Europe/Berlin";
const place = { country: "DE", timezone: zone };

const item = (id: string, quantity: number, more: Partial<Order["items"][number]> = {}) => ({
  id,
  productId: `prd_${id}`,
  productName: id,
  quantity,
  options: [],
  unitPriceMinor: 100,
  totalMinor: 100 * quantity,
  taxRatePpm: 0,
  doneAt: null,
  ...more,
});

const cheese = { groupId: "g", groupName: "Toppings", optionId: "opt_1", name: "Cheese", quantity: 2, priceMinor: 50 };

const order = (change: Partial<Order> = {}) =>
  ({
    id: "ord_1",
    version: 1,
    status: "CONFIRMED",
    fulfillmentType: "DINE_IN",
    currency: "EUR",
    customer: { id: "cus_1", name: "Ada", email: "", phone: "" },
    items: [item("Pizza", 2, { options: [cheese] }), item("Beer", 1, { note: "cold" })],
    discountMinor: 0,
    deliveryFeeMinor: 0,
    requestedFor: null,
    tableLabel: "4",
    ...change,
  }) as Order;

const editOf = (base: Order): Edit => ({ base, draft: draftOf(base, zone) });

test("an unchanged draft is no change", () => {
  const full = order({ requestedFor: "2026-07-01T17:30:00.000Z", discountMinor: 150, note: "Hello" });
  expect(changeRequest(editOf(full), place)).toBeNull();
  expect(differences(draftOf(full, zone), draftOf(full, zone), new Map())).toEqual([]);
});

test("the request has the members that change, and of a known item only those", () => {
  const { base, draft } = editOf(order({ requestedFor: "2026-07-01T17:30:00.000Z" }));
  const [pizza, beer] = draft.lines;
  let changed = withLine(draft, { ...pizza!, options: { opt_1: 1 } });
  changed = withLine(changed, { ...beer!, quantity: 3, note: " " });
  changed = withLine(changed, newLine(changed, { id: "prd_Cola", name: "Cola" }));
  expect(
    changeRequest({ base, draft: { ...changed, later: false, tableLabel: " ", discount: "1,50" } }, place),
  ).toEqual({
    items: [
      { id: "Pizza", options: [{ optionId: "opt_1", quantity: 1 }] },
      { id: "Beer", quantity: 3, note: null },
      { productId: "prd_Cola", quantity: 1 },
    ],
    requestedFor: null,
    tableLabel: null,
    discountMinor: 150,
  });
  expect(changeRequest({ base, draft: withLine(draft, { ...pizza!, quantity: 0 }) }, place)).toEqual({
    items: [{ id: "Beer" }],
  });
  const guest = { ...draft, keepsGuest: false, name: "Grace", phone: "" };
  expect(changeRequest({ base, draft: guest }, place)).toEqual({ customer: { name: "Grace" } });
});

test("clearing the name removes the guest, whether a customer or only a name", () => {
  const removed = (customer: Order["customer"]) => {
    const { base, draft } = editOf(order({ customer }));
    return changeRequest({ base, draft: { ...draft, keepsGuest: false, name: " ", email: "", phone: "" } }, place);
  };
  expect(removed({ id: "cus_1", name: "Ada", email: "", phone: "" })).toEqual({ customer: null });
  expect(removed({ id: null, name: "Ada", email: "", phone: "" })).toEqual({ customer: null });
  expect(removed({ id: null, name: "", email: "", phone: "" })).toBeNull();
});

test("the request has the changed parts of the address, of which others are cleared", () => {
  const deliveryAddress = { line1: "1 Road", line2: "Door 3", city: "Bonn", country: "DE", region: "NW" };
  const { base, draft } = editOf(order({ fulfillmentType: "DELIVERY", deliveryAddress }));
  const change = (parts: Partial<typeof draft.address>) =>
    changeRequest({ base, draft: { ...draft, address: { ...draft.address, ...parts } } }, place);
  expect(change({ line1: "2 Road", line2: "" })).toEqual({ deliveryAddress: { line1: "2 Road", line2: null } });
  expect(change({ city: "Mainz", region: "RP" })).toEqual({ deliveryAddress: { city: "Mainz", region: "RP" } });
  expect(change({ city: "Berlin", region: "" })).toEqual({ deliveryAddress: { city: "Berlin", region: null } });
});

test("one more of a product without options is added to its plain line only", () => {
  const { draft } = editOf(order({ items: [item("Pizza", 1, { options: [cheese] }), item("Cola", 1)] }));
  const quantities = (id: string) => withProduct(draft, { id, name: "" }).lines.map(({ quantity }) => quantity);
  expect(quantities("prd_Cola")).toEqual([1, 2]);
  expect(quantities("prd_Pizza")).toEqual([1, 1, 1]);
});

test("the differences are in words", () => {
  const before = draftOf(order(), zone);
  const after = withLine(withLine({ ...before, tableLabel: "5" }, { ...before.lines[1]!, quantity: 0 }), {
    ...before.lines[0]!,
    quantity: 3,
  });
  const texts = differences(before, withProduct(after, { id: "prd_Cola", name: "Cola" }), new Map());
  expect(texts.map(({ text }) => text)).toEqual([
    "Changed: 2 × Pizza with 2× Cheese → 3 × Pizza with 2× Cheese",
    "Removed: 1 × Beer (cold)",
    "Added: 1 × Cola",
    "Table: 4 → 5",
  ]);
});

test("a change that the form does not show moves the edit to the newest version", () => {
  const edit = editOf(order());
  const mine = { ...edit, draft: { ...edit.draft, note: "Quick" } };
  const paid = order({ version: 2, paidMinor: 100 });
  expect(follow(mine, paid, zone)).toMatchObject({ base: { version: 2 }, draft: { note: "Quick" } });
  const changed = order({ version: 2, tableLabel: "9" });
  expect(follow(mine, changed, zone)).toBe(mine);
  expect(theirChanges(mine, changed, zone).map(({ text }) => text)).toEqual(["Table: 4 → 9"]);
  expect(follow(mine, order({ version: 2, status: "COMPLETED" }), zone)).toBe(mine);
});

test("other prices and another delivery fee are changes by another user", () => {
  const edit = editOf(order({ deliveryFeeMinor: 250 }));
  const [pizza, beer] = order().items;
  const theirs = order({ version: 2, items: [{ ...pizza!, unitPriceMinor: 90 }, beer!] });
  expect(theirChanges(edit, theirs, zone).map(({ text }) => text)).toEqual([
    "Price of Pizza: 1.00 → 0.90",
    "Delivery fee: 2.50 → 0.00",
  ]);
  expect(follow(edit, theirs, zone)).toBe(edit);
  const both = order({
    version: 2,
    deliveryFeeMinor: 250,
    items: [pizza!, { ...beer!, quantity: 2, unitPriceMinor: 1 }],
  });
  expect(theirChanges(edit, both, zone)).toEqual([
    { key: "Beer", text: "Changed: 1 × Beer (cold) → 2 × Beer (cold), price: 1.00 → 0.01" },
  ]);
});

test("a rebase keeps the entries of both users, and those of this one where both have changed the same", () => {
  const { base, draft } = editOf(order());
  const [pizza, beer] = draft.lines;
  let mine = withLine(withLine({ ...draft, note: "Quick" }, { ...pizza!, quantity: 5 }), { ...beer!, note: "warm" });
  mine = withProduct(mine, { id: "prd_Cola", name: "Cola" });
  const theirs = order({
    version: 3,
    tableLabel: "9",
    items: [item("Pizza", 4, { options: [cheese], note: "hot" }), item("Water", 1)], // the beer is removed
  });
  const next = rebase({ base, draft: mine }, theirs, zone);
  expect(next.base.version).toBe(3);
  expect(next.draft.tableLabel).toBe("9");
  expect(changeRequest(next, place)).toEqual({
    items: [
      { id: "Pizza", quantity: 5 },
      { productId: "prd_Beer", quantity: 1, note: "warm" },
      { productId: "prd_Cola", quantity: 1 },
      { id: "Water" },
    ],
    note: "Quick",
  });
  expect(new Set(next.draft.lines.map(({ key }) => key)).size).toBe(4);
});

test("a rebase keeps a removed line removed, and does not keep one that another user has removed", () => {
  const { base, draft } = editOf(order());
  const without = withLine(draft, { ...draft.lines[0]!, quantity: 0 });
  const theirs = order({ version: 2, items: [item("Pizza", 3, { options: [cheese] })] });
  expect(rebase({ base, draft: without }, theirs, zone).draft.lines).toEqual([]);
  expect(rebase({ base, draft }, theirs, zone).draft.lines.map(({ quantity }) => quantity)).toEqual([3]);
});

test("an item that is not on the menu changes its quantity and keeps the price of its channel", () => {
  const bag = item("Bag", 1, { productId: null, unitPriceMinor: 25 });
  const base = order({ channel: "Uber Eats", items: [bag] });
  const before = draftOf(base, zone);
  const edit = { base, draft: withLine(before, { ...before.lines[0]!, quantity: 2 }) };
  expect(changeRequest(edit, place)).toEqual({ items: [{ id: "Bag", quantity: 2 }] });
  const texts = differences(before, edit.draft, new Map()).map(({ text }) => text);
  expect(texts).toEqual(["Changed: 1 × Bag → 2 × Bag"]);
  const noted = { base, draft: withLine(before, { ...before.lines[0]!, note: "paper" }) };
  expect(changeRequest(noted, place)).toEqual({ items: [{ id: "Bag", note: "paper" }] });
});
