// Orders of a sales channel with its own prices, from the request of its key to the slip and the reports.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { accessibleInThemes, as, client, launch, narrow, shoot, until, userOf, world } from "./world.mjs";

let browser;
let manager;
let admin;
let dish;
before(async () => {
  browser = await launch();
  [manager, admin] = [await client(userOf("MANAGER")), await client(userOf("ADMIN"))];
  const name = `Poke with everything that the kitchen has left today ${process.pid}`; // wider than a phone
  const product = { name, category: "Channel", priceMinor: 900, currency: "EUR" };
  dish = await manager("POST", "/products", product);
});
after(async () => {
  await browser.close();
  await admin("DELETE", `/products/${dish.id}`);
});

/** The name of the channel, which no other suite and no earlier run uses. */
const channel = `Aggregator ${process.pid}`;

/** Sends an order of the channel, with its prices, a bag that is not on the menu, and its delivery fee. */
async function order(body) {
  const owner = await client(userOf("OWNER"));
  const { key } = await owner("POST", "/api-keys", { name: channel, mode: "live", scopes: ["orders:price"] });
  const response = await fetch(`${world.api}/orders`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  });
  assert.equal(response.status, 201, await response.clone().text());
  return (await response.json()).data;
}

describe("an order of a channel", () => {
  it("goes from the request to the slip, is changed, and is in the reports", async () => {
    const guest = `Channel guest ${process.pid}`;
    const placed = await order({
      channel,
      fulfillmentType: "DELIVERY",
      customer: { name: guest },
      deliveryAddress: { line1: "1 Road", city: "Berlin", country: "DE" },
      deliveryFeeMinor: 290,
      items: [
        { productId: dish.id, quantity: 2, unitPriceMinor: 1290 },
        { name: "Paper bag", quantity: 1, unitPriceMinor: 25 },
      ],
    });
    assert.equal(placed.totalMinor, 2 * 1290 + 25 + 290);
    await as(browser, userOf("STAFF"), async (page) => {
      await page.addInitScript(() => {
        globalThis.printed = 0;
        globalThis.print = () => globalThis.printed++;
      });
      await page.goto("/dashboard/orders");
      const card = page.getByRole("article", { name: `Order ${placed.orderId}` });
      await card.getByText(channel).waitFor();
      await card.getByText("Paper bag").waitFor();
      await card.scrollIntoViewIfNeeded();
      await accessibleInThemes(page, "channel-card");
      await card.getByRole("button", { name: /^Print/ }).click();
      await page.waitForFunction(() => globalThis.printed === 1);
      await page.emulateMedia({ media: "print" });
      const slip = page.getByTestId("slip");
      await slip.getByText(`Delivery · ${channel} · ${guest}`).waitFor();
      await slip.getByText("Paper bag").waitFor();
      await shoot(page, "channel-slip");
      await page.emulateMedia({ media: "screen" });

      await page.goto(`/dashboard/orders/${placed.id}`);
      await page.getByText(`Delivery · ${channel} · `).waitFor();
      const items = page.getByRole("region", { name: "Items", exact: true });
      await items.getByRole("row", { name: /^Paper bag Not on the menu/ }).waitFor();
      await page.getByText("€2.90", { exact: true }).waitFor();
      await accessibleInThemes(page, "channel-order");

      // The channel's prices stay when the counter changes quantities.
      await page.getByRole("link", { name: "Change", exact: true }).click();
      await page.getByRole("heading", { name: `Delivery · ${channel}` }).waitFor();
      await page.getByRole("button", { name: "Add one Paper bag" }).click();
      await page.getByRole("button", { name: `Remove one ${dish.name}` }).click();
      await page.getByText("The total changes from €28.95 to €16.30.").waitFor();
      await page.getByRole("button", { name: "Edit Paper bag" }).click();
      await page.getByRole("dialog", { name: "Paper bag" }).getByLabel("Note for the kitchen").fill("with handles");
      await page.getByRole("button", { name: "Apply" }).click();
      await page.getByText("Changed: 1 × Paper bag → 2 × Paper bag (with handles)").waitFor();
      await accessibleInThemes(page, "channel-order-change");
      await page.setViewportSize({ width: 390, height: 900 });
      await narrow(page, "the change of an order of a channel");
      await page.setViewportSize({ width: 1280, height: 720 });
      await until("the price is known", () => page.getByRole("button", { name: "Save changes" }).isEnabled());
      await page.getByRole("button", { name: "Save changes" }).click();
      await page.getByRole("heading", { level: 1, name: new RegExp(`^Order ${placed.orderId} `) }).waitFor();
    });
    const changed = await manager("GET", `/orders/${placed.id}`);
    assert.deepEqual(
      changed.items.map(({ quantity, unitPriceMinor, note }) => [quantity, unitPriceMinor, note ?? ""]),
      [
        [1, 1290, ""],
        [2, 25, "with handles"],
      ],
    );
    await manager("POST", `/orders/${placed.id}/payments`, {
      ...{ provider: "CHANNEL", transactionId: `channel-${process.pid}`, status: "SUCCEEDED", currency: "EUR" },
      ...{ amountMinor: changed.totalMinor, paymentMethod: "online" },
    });
    await manager("PATCH", `/orders/${placed.id}/status`, { status: "COMPLETED" });

    await as(browser, userOf("ADMIN"), async (page) => {
      await page.goto("/dashboard/analytics");
      const row = page
        .getByRole("region", { name: "Sales by channel" })
        .getByRole("row", { name: new RegExp(channel) });
      await row.getByText("Delivery", { exact: true }).waitFor();
      await row.getByText("€13.40").waitFor();
      await row.getByText("€2.90").waitFor();
      // Other suites may have sold more than a page of products.
      const sold = page.getByRole("region", { name: "Products sold" });
      const more = page.locator("section", { has: sold }).getByRole("button", { name: "Show more" });
      await until("the report has what is not on the menu", async () => {
        if (await sold.getByRole("row", { name: /^Not on the menu/ }).isVisible()) return true;
        if (await more.isVisible()) await more.click({ timeout: 1_000 }).catch(() => {}); // the last page has come
        return false;
      });
      await accessibleInThemes(page, "channel-analytics");
      await page.setViewportSize({ width: 390, height: 900 });
      await narrow(page, "the sales by channel");
      await page.goto("/dashboard/cash-up");
      await page
        .getByRole("row", { name: new RegExp(channel) })
        .first()
        .getByText("€16.30")
        .first()
        .waitFor();
    });
  });
});
