import { ComandaError } from "@comanda/client";
import { expect, test } from "vitest";

import {
  addressOf,
  emptyDraft,
  lacksTime,
  lineErrors,
  maxLines,
  newLine,
  placeRequest,
  quoteRequest,
  withLine,
  withProduct,
} from "./draft";
import { withCustomer } from "./phone-lookup";

const pizza = { id: "prd_1", name: "Pizza" };
const view = { id: "view_1", currency: "EUR" };
const place = { country: "DE", timezone: "Europe/Berlin" };

test("withProduct and withLine add, change and remove lines within the limits", () => {
  const two = withProduct(withProduct(emptyDraft, pizza), pizza);
  expect(two.lines).toEqual([{ key: 1, productId: "prd_1", name: "Pizza", quantity: 2, options: {}, note: "" }]);
  expect(withLine(two, { ...two.lines[0]!, quantity: 5000 }).lines[0]?.quantity).toBe(999);
  expect(withLine(two, { ...two.lines[0]!, quantity: 0 }).lines).toEqual([]);
  let full = emptyDraft;
  for (let i = 0; i <= maxLines; i++) full = withProduct(full, { id: `prd_${i}`, name: "" });
  expect(full.lines).toHaveLength(maxLines);
});

test("withProduct starts another line if the first one has a note", () => {
  const noted = withLine(emptyDraft, { ...newLine(emptyDraft, pizza), note: "well done" });
  expect(withProduct(noted, pizza).lines.map(({ key, quantity }) => [key, quantity])).toEqual([
    [1, 1],
    [2, 1],
  ]);
});

test("placeRequest omits empty fields", () => {
  const draft = { ...withProduct(emptyDraft, pizza), name: " Ada ", phone: "+49 (151) 123-45", discount: "1,50" };
  expect(placeRequest(draft, view, place)).toEqual({
    storeViewId: "view_1",
    items: [{ productId: "prd_1", quantity: 1 }],
    fulfillmentType: "PICKUP",
    source: "PHONE",
    customer: { name: "Ada", phone: "+4915112345" },
    discountMinor: 150,
  });
  const known = placeRequest(
    {
      ...draft,
      customerId: "cus_1",
      fulfillmentType: "DELIVERY",
      tableLabel: "Terrace 4",
      address: { ...draft.address, line1: "1 Road", city: "Bonn" },
    },
    view,
    place,
  );
  expect(known.customer).toBeUndefined();
  const nobody = placeRequest({ ...draft, name: " ", phone: "" }, view, place);
  expect(nobody.customer).toBeUndefined();
  expect(placeRequest({ ...draft, name: "", phone: "", fulfillmentType: "DELIVERY" }, view, place).customer).toEqual({
    name: "",
  });
  expect(known.tableLabel).toBeUndefined();
  expect(known.deliveryAddress).toEqual({ line1: "1 Road", city: "Bonn", country: "DE" });
});

test("placeRequest has the chosen options, the notes, the table and the wanted time", () => {
  const line = { ...newLine(emptyDraft, pizza, { opt_1: 2, opt_2: 0 }), note: " crisp " };
  const draft = {
    ...withLine(emptyDraft, line),
    fulfillmentType: "DINE_IN" as const,
    tableLabel: " Terrace 4 ",
    later: true,
    day: "2026-07-01",
    time: "19:30",
  };
  const request = placeRequest(draft, view, place);
  expect(request.items).toEqual([
    { productId: "prd_1", quantity: 1, options: [{ optionId: "opt_1", quantity: 2 }], note: "crisp" },
  ]);
  expect(request.tableLabel).toBe("Terrace 4");
  expect(request.requestedFor).toBe("2026-07-01T17:30:00.000Z");
  expect(lacksTime({ ...draft, time: "" })).toBe(true);
  expect(placeRequest({ ...draft, later: false }, view, place).requestedFor).toBeUndefined();
});

test("quoteRequest requires only items, and does not depend on the guest", () => {
  expect(quoteRequest(emptyDraft, view, place)).toBeNull();
  const draft = { ...withProduct(emptyDraft, pizza), fulfillmentType: "DELIVERY" as const };
  const quote = quoteRequest(draft, view, place);
  expect(quote?.storeViewId).toBe("view_1");
  expect(quote?.customer?.name).toBeTruthy();
  expect(quote?.deliveryAddress?.line1).toBeTruthy();
  expect(quoteRequest({ ...draft, name: "Ada", note: "no onions" }, view, place)).toEqual(quote);
});

test("points belong to a known customer, of whom their price depends", () => {
  const draft = { ...withProduct(emptyDraft, pizza), points: "120" };
  expect(placeRequest(draft, view, place).loyaltyPoints).toBeUndefined();
  const known = { ...draft, customerId: "cus_1" };
  expect(placeRequest(known, view, place).loyaltyPoints).toBe(120);
  expect(quoteRequest(known, view, place)).toMatchObject({ customerId: "cus_1", loyaltyPoints: 120 });
  expect(quoteRequest({ ...known, points: "" }, view, place)?.customerId).toBeUndefined();
});

test.each([
  ["PRODUCT_UNAVAILABLE", "items[1].productId", "is not available", "Not available now. Remove this item."],
  ["PRODUCT_UNAVAILABLE", "items[1].quantity", "exceeds the stock", "Only 3 left. Reduce the quantity."],
  ["OPTION_INVALID", "items[1].options[0].optionId", "is not available", "Choose the options of this item again."],
  ["PRICE_NOT_SET", "items[1].productId", "has no price in CHF", "This item has no price in CHF."],
])("%s at %s marks its line", (code, path, message, wanted) => {
  const lines = withProduct(withProduct(emptyDraft, { id: "prd_0", name: "" }), pizza).lines;
  const error = new ComandaError({ status: 422, code, message: "", details: [{ path, message }] });
  expect([...lineErrors(error, lines, new Map([["prd_1", { stockQuantity: 3 }]]))]).toEqual([[2, wanted]]);
});

test("a known address is filled in and sent with all its parts", () => {
  const known = { line1: "1 Road", city: "Springfield", region: "IL", postalCode: "62701", country: "US" };
  const address = { ...known, line2: "", notes: "" };
  expect(addressOf({ ...known, line2: null })).toEqual(address);
  const draft = withCustomer(
    { ...withProduct(emptyDraft, pizza), fulfillmentType: "DELIVERY" },
    { id: "cus_1", name: "Ada", phone: "+49151", lastAddress: known },
  );
  expect(draft.address).toEqual(address);
  expect(placeRequest(draft, view, place).deliveryAddress).toEqual(known);
});
