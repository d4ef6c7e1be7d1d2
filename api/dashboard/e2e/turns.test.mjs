import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";

import { accessibleInThemes, as, client, heading, launch, narrow, shoot, until, userOf, world } from "./world.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

describe("deliveries of an ordered webhook", () => {
  const owner = userOf("OWNER");
  const responses = []; // of attempts in progress
  const receiver = createServer((request, response) => {
    request.resume();
    if (responses.released) response.writeHead(204).end();
    else responses.push(response);
  });
  let api, webhook;

  before(async () => {
    await new Promise((listening) => receiver.listen(0, "127.0.0.1", listening));
    api = await client(owner);
    webhook = await api("POST", "/webhooks", {
      url: `${world.receiver}/forward/${receiver.address().port}`,
      events: ["order.created", "order.status_updated"],
      secret: "a secret of the browser tests, 32 bytes",
      ordering: "resource",
    });
    const product = await api("POST", "/products", { name: "Gnocchi", priceMinor: 1400, currency: "EUR" });
    const order = await api("POST", "/orders", {
      items: [{ productId: product.id, quantity: 1 }],
      fulfillmentType: "PICKUP",
      customer: { name: "Ada Lovelace" },
    });
    // An attempt that hangs takes ten seconds, and each delivery has two. The last one waits for a minute.
    for (const status of ["CONFIRMED", "PREPARING", "READY"])
      await api("PATCH", `/orders/${order.id}/status`, { status });
  });
  after(async () => {
    receiver.close();
    receiver.closeAllConnections();
    if (webhook) await api("DELETE", `/webhooks/${webhook.id}`);
  });

  const deliveries = () => api("GET", `/deliveries?webhookId=${webhook.id}&limit=10`);

  it("show which delivery they wait for, until it has ended", async () => {
    const held = await until("three deliveries are held back", async () => {
      const found = (await deliveries()).filter(({ waitsFor }) => waitsFor);
      return found.length === 3 && found;
    });
    assert.deepEqual(
      held.map((one) => [one.status, one.scheduledFor]),
      Array(3).fill(["queued", null]),
    );
    await as(browser, owner, async (page) => {
      await page.goto(`/dashboard/webhooks/${webhook.id}`);
      const queued = page.getByRole("region", { name: "Queued deliveries" });
      const rows = queued.getByRole("row", { name: "order.status_updated waits for another delivery" });
      await rows.first().waitFor();
      await queued.scrollIntoViewIfNeeded();
      await accessibleInThemes(page, "webhook-held-back");
      await page.setViewportSize({ width: 360, height: 740 });
      await narrow(page, "webhook with held-back deliveries");
      await queued.scrollIntoViewIfNeeded();
      await shoot(page, "webhook-held-back-phone");
      await page.setViewportSize({ width: 1280, height: 900 });

      const last = held[0]; // the list begins with the newest one
      await queued.locator(`a[href$="/deliveries/${last.id}"]`).click();
      await heading(page, "Delivery of order.status_updated").waitFor();
      await page.getByText("waits for another delivery").waitFor();
      await accessibleInThemes(page, "delivery-held-back");
      await page.getByRole("link", { name: "another delivery" }).click();
      await page.waitForURL((url) => url.pathname.includes("/deliveries/") && !url.pathname.endsWith(last.id));

      await page.goto(`/dashboard/webhooks/${webhook.id}`);
      await queued.waitFor();
      responses.released = true;
      for (const response of responses.splice(0)) response.writeHead(204).end();
      await until("no delivery waits", async () => (await deliveries()).every(({ status }) => status !== "queued"));
      await queued.waitFor({ state: "detached" });
    });
  });
});
