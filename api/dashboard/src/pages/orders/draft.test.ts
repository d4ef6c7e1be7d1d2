import { expect, test } from "vitest";

import { emptyDraft, maxLines, placing, quoting, withProduct } from "./draft";

const pizza = { id: "prd_1", name: "Pizza" };

test("lines are added to, set and taken out", () => {
  const two = withProduct(withProduct(emptyDraft, pizza), pizza);
  expect(two.lines).toEqual([{ productId: "prd_1", name: "Pizza", quantity: 2 }]);
  expect(withProduct(two, pizza, 5000).lines[0]?.quantity).toBe(999);
  expect(withProduct(two, pizza, 0).lines).toEqual([]);
  let full = emptyDraft;
  for (let i = 0; i <= maxLines; i++) full = withProduct(full, { id: `prd_${i}`, name: "" });
  expect(full.lines).toHaveLength(maxLines);
});

test("what has not been filled in is not sent", () => {
  const draft = { ...withProduct(emptyDraft, pizza), name: " Ada ", phone: "+49 (151) 123-45", discount: "1,50" };
  expect(placing(draft, "EUR")).toEqual({
    items: [{ productId: "prd_1", quantity: 1 }],
    fulfillmentType: "PICKUP",
    source: "PHONE",
    customer: { name: "Ada", phone: "+4915112345" },
    discountMinor: 150,
  });
  const known = placing({ ...draft, customerId: "cus_1", fulfillmentType: "DELIVERY", address: { ...draft.address, line1: "1 Road", city: "Bonn", country: "de" } }, "EUR");
  expect(known.customer).toBeUndefined();
  expect(known.deliveryAddress).toEqual({ line1: "1 Road", city: "Bonn", country: "DE" });
});

test("a quote needs items and nothing else", () => {
  expect(quoting(emptyDraft, "EUR")).toBeNull();
  const quote = quoting({ ...withProduct(emptyDraft, pizza), fulfillmentType: "DELIVERY" }, "EUR");
  expect(quote?.customer?.name).toBeTruthy();
  expect(quote?.deliveryAddress?.line1).toBeTruthy();
});
