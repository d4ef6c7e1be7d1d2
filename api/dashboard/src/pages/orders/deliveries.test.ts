import { expect, test } from "vitest";

import { type Delivery, byWebhook, deliveryStateOf } from "./deliveries";

const to = (webhook: string, status: Delivery["status"], nextRetryAt?: string): Delivery => ({
  eventId: "evt_1",
  eventType: "order.created",
  webhook: { id: `whk_of_${webhook}`, description: webhook },
  status,
  nextRetryAt,
  attempts: 1,
});

test("deliveryStateOf names the webhooks to which an event is not delivered", () => {
  expect(deliveryStateOf([])).toBeUndefined();
  expect(deliveryStateOf([to("Till", "cancelled")])).toBeUndefined();
  expect(deliveryStateOf([to("Till", "delivered"), to("Shop", "delivered")])).toEqual({
    state: "delivered",
    missing: [],
  });
  expect(deliveryStateOf([to("Till", "delivered"), to("Shop", "queued")])).toEqual({
    state: "sending",
    missing: ["Shop"],
  });
  expect(
    deliveryStateOf([
      to("Till", "retrying", "2026-03-14T12:05:00.000Z"),
      to("Till", "retrying", "2026-03-14T12:01:00.000Z"),
    ]),
  ).toEqual({ state: "retrying", missing: ["Till"], nextRetryAt: "2026-03-14T12:01:00.000Z" });
  expect(deliveryStateOf([to("Till", "dead_letter"), to("Shop", "retrying")])).toEqual({
    state: "failed",
    missing: ["Till", "Shop"],
  });
  expect(deliveryStateOf([to("", "pending")])?.missing).toEqual(["Webhook …hk_of_"]);
});

test("byWebhook keeps the order of the deliveries", () => {
  const [till, shop, again] = [to("Till", "delivered"), to("Shop", "queued"), to("Till", "retrying")];
  expect(byWebhook([till, shop, again])).toEqual([
    { webhook: till.webhook, deliveries: [till, again] },
    { webhook: shop.webhook, deliveries: [shop] },
  ]);
});
