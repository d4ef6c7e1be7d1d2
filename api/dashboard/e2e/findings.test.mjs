import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";

import { as, client, heading, launch, narrow, newUser, settled, till, userOf, visit, world } from "./world.mjs";

let browser, api, place, complete;
before(async () => {
  browser = await launch();
  ({ api, place, complete } = await till());
});
after(() => browser.close());

const busyOwner = () => world.users.find((user) => user.role === "OWNER" && user.storeIds.includes(world.busy.storeId));

describe("an attempt", () => {
  it("is copied with the bytes that were signed", async () => {
    const owner = await client(busyOwner());
    const { id } = await owner("POST", "/webhooks", {
      url: `${world.receiver}/204`,
      events: ["order.created"],
      secret: "a secret of at least thirty-two characters",
    });
    await owner("POST", `/webhooks/${id}/test`, {});
    const [attempt] = await owner("GET", `/webhooks/${id}/deliveries`);
    const { request } = await owner("GET", `/webhooks/${id}/deliveries/${attempt.id}`);
    await as(browser, busyOwner(), async (page, context) => {
      await context.grantPermissions(["clipboard-read", "clipboard-write"]);
      await page.goto(`/dashboard/webhooks/${id}?attempt=${attempt.id}`);
      await page.getByRole("dialog").getByRole("button", { name: "Copy", exact: true }).first().click();
      await page.getByText("Copied").waitFor();
      assert.equal(await page.evaluate(() => navigator.clipboard.readText()), request.body);
      await page.getByRole("button", { name: "Copy as curl" }).click();
      await page.waitForFunction(async () => (await navigator.clipboard.readText()).startsWith("curl -X POST '"));
    });
    await owner("DELETE", `/webhooks/${id}`);
  });
});

describe("a payment", () => {
  it("by card is recorded with the provider of the card", async () => {
    const order = await place("Ada");
    await as(browser, userOf("STAFF"), async (page) => {
      await page.goto(`/dashboard/orders/${order.id}`);
      await page.getByRole("button", { name: "Record payment" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Payment method").selectOption("card");
      await dialog.getByRole("button", { name: "Record", exact: true }).click();
      await dialog.waitFor({ state: "detached" });
      await page.getByText("Card terminal · card").waitFor();
      const toast = await page.locator("li[data-state=open]").first().boundingBox();
      const main = await page.getByRole("main").boundingBox();
      assert.ok(toast.x + toast.width <= main.x, "the message covers the page");
    });
    const [payment] = await api("GET", `/orders/${order.id}/payments`);
    assert.deepEqual([payment.provider, payment.paymentMethod], ["CARD_TERMINAL", "card"]);
    await complete(order);
  });
});

describe("the audit trail", () => {
  it("shows opening hours and roles in words", async () => {
    const admin = await client(userOf("ADMIN"));
    const { openingHours } = await admin("GET", "/settings");
    const span = [{ from: "18:00", to: "02:00" }];
    await admin("PATCH", "/settings", { openingHours: { DELIVERY: { sat: span, fri: span } } });
    await admin("PATCH", "/settings", { openingHours: { DELIVERY: openingHours.DELIVERY ?? null } });
    await as(browser, userOf("OWNER"), async (page) => {
      await page.goto("/dashboard/audit?action=settings.changed");
      await page
        .getByText(/Delivery Fri 18:00–02:00, Sat 18:00–02:00/)
        .first()
        .waitFor();
      await newUser("MANAGER");
      await page.goto("/dashboard/audit?action=user.invited");
      await page.getByText("Manager", { exact: true }).first().waitFor();
    });
  });

  it("shows changed prices and cancelled orders with their currency", async () => {
    const dish = await api("POST", "/products", { name: `Cake ${process.pid}`, priceMinor: 400, currency: "EUR" });
    await api("PATCH", `/products/${dish.id}`, { priceMinor: 450 });
    const order = await place("Ada", { items: [{ productId: dish.id, quantity: 2 }] });
    await api("PATCH", `/orders/${order.id}/status`, { status: "CANCELLED", cancellationReason: "A test" });
    await (
      await client(userOf("ADMIN"))
    )("DELETE", `/products/${dish.id}`);
    await as(browser, userOf("OWNER"), async (page) => {
      await page.goto(`/dashboard/audit?action=product.prices_changed&target=${dish.id}`);
      await page.getByText("€4.00 → €4.50").waitFor();
      await page.goto(`/dashboard/audit?action=order.cancelled&target=${order.id}`);
      await page.getByText("€9.00").waitFor();
    });
  });
});

describe("the events of a webhook", () => {
  it("have examples of their payloads", async () => {
    await as(browser, userOf("ADMIN"), async (page) => {
      await visit(page, "Webhooks");
      await page.getByRole("button", { name: "Create webhook" }).first().click();
      const dialog = page.getByRole("dialog");
      const example = dialog.locator("details").first();
      assert.equal(await example.locator("pre").isVisible(), false);
      await example.locator("summary").click();
      await example.getByText(/"type": "order.created"/).waitFor();
    });
  });
});

describe("a new order", () => {
  it("takes a local phone number of the store's country", async () => {
    let order;
    await as(browser, userOf("STAFF"), async (page) => {
      await page.goto("/dashboard/orders/new");
      await page.getByRole("button", { name: /^Pizza Margherita/ }).click();
      await page.getByLabel("Name", { exact: true }).fill("Lise Meitner");
      await page.getByLabel("Phone").fill("0151 2345678");
      await page.getByText("Stored as +491512345678.").waitFor();
      await page.getByRole("button", { name: "Place order" }).click();
      await page.waitForURL(/\/orders\/ord_/);
      await page.getByText("+491512345678").waitFor();
      order = { id: page.url().split("/").at(-1) };
    });
    await complete(order);
  });
});

describe("a secret that is shown once", () => {
  it("stays until its dialog is closed explicitly", async () => {
    await as(browser, userOf("OWNER"), async (page) => {
      await visit(page, "API keys");
      await page.getByRole("button", { name: "Create API key" }).first().click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Name").fill("Findings");
      await dialog.getByRole("checkbox").first().check();
      await dialog.getByRole("button", { name: "Create", exact: true }).click();
      const done = dialog.getByRole("button", { name: "Done" });
      await done.waitFor();
      await page.keyboard.press("Escape");
      await page.mouse.click(5, 5);
      await done.click();
      await dialog.waitFor({ state: "detached" });
    });
  });
});

describe("the fields of a form", () => {
  it("have the decimal sign of the browser's language, as prices have", async () => {
    const product = await api("POST", "/products", {
      name: `Tea of ${process.pid}`,
      priceMinor: 1250,
      currency: "EUR",
      taxRatePpm: 81_000,
      optionGroups: [{ name: "Milk", options: [{ name: "Oat", priceMinor: 50 }] }],
    });
    const work = async (page) => {
      await page.goto(`/dashboard/products?q=${encodeURIComponent(product.name)}`);
      const row = page.getByRole("row", { name: product.name });
      await row.getByText("12,50").waitFor();
      await row.getByRole("button", { name: "Edit" }).click();
      const dialog = page.getByRole("dialog");
      assert.equal(await dialog.getByLabel("EUR", { exact: true }).inputValue(), "12,50");
      assert.equal(await dialog.getByLabel("Tax rate in %").inputValue(), "8,1");
      await dialog.getByLabel("EUR", { exact: true }).fill("13,40");
      await dialog.getByRole("button", { name: "Save" }).click();
      await row.getByText("13,40").waitFor();
    };
    await as(browser, userOf("MANAGER"), work, { locale: "de-DE" });
    const saved = await api("GET", `/products/${product.id}`);
    assert.deepEqual(
      [saved.priceMinor, saved.taxRatePpm, saved.optionGroups[0].options[0].priceMinor],
      [1340, 81_000, 50],
    );
    await (
      await client(userOf("ADMIN"))
    )("DELETE", `/products/${product.id}`);
  });
});

describe("orders", () => {
  it("are exported as CSV without formulas", async () => {
    const order = await place("=HYPERLINK(1)");
    await as(browser, userOf("STAFF"), async (page) => {
      await page.goto(`/dashboard/orders?view=all&q=${order.orderId}`);
      const [saved] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Export CSV" }).click(),
      ]);
      const [columns, ...rows] = readFileSync(await saved.path(), "utf8")
        .trimEnd()
        .split("\r\n");
      assert.match(columns, /number,status,placedAt/);
      const row = rows.find((one) => one.startsWith(`${order.orderId},RECEIVED,`));
      assert.ok(row?.includes(",'=HYPERLINK(1),"), rows.join("\n"));
    });
    await complete(order);
  });
});

describe("on a phone", () => {
  const phone = { hasTouch: true };
  it("lists show each row and its actions without scrolling sideways", async () => {
    await as(
      browser,
      userOf("OWNER"),
      async (page) => {
        await page.setViewportSize({ width: 360, height: 740 });
        for (const [path, name] of [
          ["/orders?view=all", "Orders"],
          ["/products", "Products"],
          ["/audit", "Audit trail"],
          ["/api-keys", "API keys"],
        ]) {
          await page.goto(`/dashboard${path}`);
          await heading(page, name).waitFor();
          await settled(page);
          const region = page.getByRole("region", { name });
          await region.getByRole("row").nth(1).waitFor();
          await narrow(page, name);
          const hidden = await region.evaluate((region) => region.scrollWidth - region.clientWidth);
          assert.ok(hidden <= 0, `${hidden} pixels of ${name} are hidden`);
        }
      },
      phone,
    );
  });

  it("a dialog keeps its submit button visible", async () => {
    await as(
      browser,
      userOf("MANAGER"),
      async (page) => {
        await page.setViewportSize({ width: 360, height: 740 });
        await page.goto("/dashboard/products");
        await page.getByRole("button", { name: "Add product" }).click();
        const submit = page.getByRole("dialog").getByRole("button", { name: "Add", exact: true });
        const { y, height } = await submit.boundingBox();
        assert.ok(y + height <= 740, `the button ends at ${y + height}`);
      },
      phone,
    );
  });
});
