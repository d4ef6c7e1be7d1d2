import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";

import { accessible, as, client, heading, launch, until, userOf, world } from "./world.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

describe("a held-back delivery", () => {
  const owner = userOf("OWNER");
  let api, webhook, order;
  const held = []; // the responses that the receiver has not sent yet
  const receiver = createServer((_, response) => void held.push(response));
  const release = () => held.splice(0).forEach((response) => response.writeHead(204).end());

  before(async () => {
    await once(receiver.listen(0, "127.0.0.1"), "listening");
    api = await client(owner);
    webhook = await api("POST", "/webhooks", {
      url: `${world.receiver}/forward/${receiver.address().port}`,
      events: ["order.created", "order.status_updated"],
      ordering: "resource",
      secret: "a secret that is long enough to be one",
    });
    const product = await api("POST", "/products", { name: "Gazpacho", priceMinor: 900, currency: "EUR" });
    order = await api("POST", "/orders", {
      items: [{ productId: product.id, quantity: 1 }],
      fulfillmentType: "PICKUP",
      customer: { name: "Ada Lovelace" },
    });
    await until("the first attempt", () => held.length > 0);
    await api("PATCH", `/orders/${order.id}/status`, { status: "CONFIRMED" });
  });
  after(async () => {
    release();
    receiver.close();
    receiver.closeAllConnections();
    await api("DELETE", `/webhooks/${webhook.id}`);
  });

  it("waits for the delivery that has the turn", async () => {
    await as(browser, owner, async (page) => {
      await page.goto(`/dashboard/webhooks/${webhook.id}`);
      const queued = page.getByRole("region", { name: "Queued deliveries" });
      const row = queued.getByRole("row", { name: "order.status_updated waits for another delivery" });
      await row.waitFor();
      await accessible(page, "a webhook with a held-back delivery");
      await row.getByRole("link", { name: "another delivery" }).click();
      await heading(page, "Delivery of order.created").waitFor();
      release();
      const [created, updated] = ["order.created", "order.status_updated"];
      await until("both are delivered in order", async () => {
        release();
        const deliveries = await api("GET", `/deliveries?webhookId=${webhook.id}&status=delivered`);
        return deliveries.length === 2;
      });
      const attempts = await api("GET", `/webhooks/${webhook.id}/deliveries`);
      assert.deepEqual(
        attempts.filter(({ status }) => status === "delivered").map(({ eventType }) => eventType),
        [updated, created], // newest first
      );
      await page.reload();
      await page.getByText("delivered", { exact: true }).waitFor();
    });
  });
});
