import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { AxeBuilder } from "@axe-core/playwright";

import { client, heading, launch, logIn, sections, settled, unbuilt, userOf, visit, visitor, world } from "./world.mjs";

const built = Object.keys(sections).filter((name) => !unbuilt.has(name));
const hostile = `"><img src=x onerror=hacked()><script>hacked()</script>`;

let browser;
before(async () => {
  browser = await launch();
  const ask = await client(userOf("OWNER"));
  const products = await ask("GET", "/products?limit=10");
  const item = (n) => ({ productId: products[n % products.length].id, quantity: (n % 3) + 1 });
  for (let n = 0; n < 12; n++) {
    await ask("POST", "/orders", { items: [item(n), item(n + 4)], fulfillmentType: n % 2 ? "PICKUP" : "DINE_IN", customer: { name: "Ada Lovelace" } });
  }
});
after(() => browser.close());

/**
 * Fills whatever a stranger can fill with a text that would like to be a script. It returns
 * where a receiver's answer of that kind is shown.
 */
async function attack() {
  const ask = await client(userOf("OWNER"));
  const webhook = await ask("POST", "/webhooks", { url: world.hostile, events: ["order.created"], secret: "a secret that is long enough to be one" });
  const name = hostile.slice(0, 90);
  const product = await ask("POST", "/products", { name, description: hostile, category: name, priceMinor: 500, currency: "EUR" });
  await ask("POST", "/orders", {
    items: [{ productId: product.id, quantity: 1 }],
    fulfillmentType: "DELIVERY",
    customer: { name },
    deliveryAddress: { line1: name, city: name, postalCode: "10115", country: "DE", notes: hostile },
    note: hostile,
  });
  await ask("POST", "/api-keys", { name, mode: "live", scopes: ["read:orders"] });
  await ask("POST", "/users", { email: "mallory@example.com", name, role: "STAFF", storeIds: [world.stores[0].storeId] });
  const registered = await fetch(`${world.api}/customer-auth/register`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ storeId: world.stores[0].storeId, email: "mallory@example.com", password: "mallory's own password", firstName: name, lastName: name }),
  });
  assert.equal(registered.status, 201, await registered.text());
  for (;;) {
    const [attempt] = await ask("GET", `/webhooks/${webhook.id}/deliveries`);
    if (attempt) return `/dashboard/webhooks/${webhook.id}?attempt=${attempt.id}`;
  }
}

describe("pages", () => {
  it("shows numbers that add up", async () => {
    const { context, faults } = await visitor(browser);
    const page = await context.newPage();
    await logIn(page, userOf("ADMIN"));
    await visit(page, "Analytics");
    const table = page.getByRole("region", { name: "Sales over time, EUR" });
    for (const by of ["Days", "Hours"]) {
      await page.getByRole("radio", { name: by }).click();
      await table.getByRole("columnheader", { name: by.slice(0, -1), exact: true }).waitFor();
      for (const column of ["orders", "itemsSold", "netMinor"]) {
        const cells = await table.locator(`tbody [data-column=${column}]`).allInnerTexts();
        const sum = await table.locator(`tfoot [data-column=${column}]`).innerText();
        const number = (text) => Number(text.replace(/[^\d]/g, ""));
        assert.ok(number(sum) > 0, `${column} ${sum}`);
        assert.equal(cells.map(number).reduce((a, b) => a + b, 0), number(sum), column);
      }
    }
    assert.deepEqual(faults, []);
    await context.close();
  });

  it("saves settings, unless somebody else has meanwhile", async () => {
    const { context, faults } = await visitor(browser);
    const tabs = [await context.newPage(), await context.newPage()];
    await logIn(tabs[0], userOf("ADMIN"));
    await visit(tabs[0], "Settings");
    await tabs[1].goto("/dashboard/settings");
    await tabs[1].getByLabel("Fee in EUR").fill("3.5");
    await tabs[1].getByRole("button", { name: "Save" }).click();
    await tabs[1].getByText("The settings are saved").first().waitFor();
    await tabs[0].getByLabel("Seats").fill("55");
    await tabs[0].getByRole("button", { name: "Save" }).click();
    await tabs[0].getByRole("button", { name: "Show what was saved meanwhile" }).click();
    await tabs[0].waitForFunction(() => document.querySelector("[name='deliveryFees.EUR']").value === "3.50");
    await tabs[0].getByLabel("Seats").fill("-1");
    await tabs[0].getByRole("button", { name: "Save" }).click();
    await tabs[0].getByText("must be a whole number from 0 to 100000").waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });

  it("changes the plan with its consequences told, and notes it", async () => {
    const { context, faults } = await visitor(browser);
    const page = await context.newPage();
    await logIn(page, userOf("OWNER"));
    await visit(page, "Plan");
    await page.getByRole("button", { name: "Choose Grow" }).click();
    await page.getByText("None is dropped.").waitFor();
    await page.getByRole("button", { name: "Change to Grow" }).click();
    await page.getByRole("meter", { name: "Deliveries of this hour" }).waitFor();
    await visit(page, "Audit trail");
    await page.getByLabel("What", { exact: true }).selectOption({ label: "Plan changed" });
    await page.getByText("ENTERPRISE → GROW").waitFor();
    assert.equal(await page.locator("tbody tr").count(), 1);
    assert.match(page.url(), /action=plan.changed/);
    assert.deepEqual(faults, []);
    await context.close();
  });
});

describe("everybody", () => {
  for (const colorScheme of ["light", "dark"]) {
    it(`can use each page (${colorScheme})`, async () => {
      const { context, faults } = await visitor(browser, { colorScheme, viewport: { width: 1280, height: 900 } });
      const page = await context.newPage();
      await page.goto("/dashboard/");
      await page.getByLabel("E-mail address").waitFor();
      await check(page, "login", colorScheme);
      await logIn(page, userOf("OWNER"));
      for (const name of built) {
        await visit(page, name);
        await settled(page);
        await check(page, sections[name][0].slice(1), colorScheme);
      }
      assert.deepEqual(faults, []);
      await context.close();
    });
  }

  it("can use each page on a phone", async () => {
    const { context, faults } = await visitor(browser, { viewport: { width: 360, height: 740 } });
    const page = await context.newPage();
    await page.goto("/dashboard/");
    await page.getByLabel("E-mail address").fill(userOf("OWNER").email);
    await page.getByLabel("Password").fill(userOf("OWNER").password);
    await page.getByRole("button", { name: "Log in" }).click();
    for (const name of built) {
      await page.getByRole("button", { name: "Open the menu" }).click();
      await page.getByRole("link", { name, exact: true }).click();
      await heading(page, name).waitFor();
      await settled(page);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${name} is ${wide} pixels wider than a phone`);
      if (name === "Analytics") await shoot(page, "analytics", "phone");
    }
    assert.deepEqual(faults, []);
    await context.close();
  });
});

// Last, so that it is in no picture.
describe("strangers", () => {
  it("write nothing but text", async () => {
    const answer = await attack();
    const { context, faults } = await visitor(browser);
    const page = await context.newPage();
    await logIn(page, userOf("OWNER"));
    for (const name of built) {
      await visit(page, name);
      await settled(page);
      assert.equal(await page.locator("img[src=x]").count(), 0, name);
    }
    await visit(page, "API keys");
    await page.getByText(hostile.slice(0, 90)).waitFor();
    await visit(page, "Analytics");
    await page.getByText(hostile.slice(0, 90)).waitFor();
    await page.goto(answer);
    await page.getByText("<script>hacked()</script>").first().waitFor();
    assert.equal(await page.locator("img[src=x]").count(), 0);
    assert.deepEqual(faults, []);
    await context.close();
  });
});

/** Has axe look at the page, and takes its picture if that is wanted. */
async function check(page, name, colorScheme) {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(
    serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`),
    [],
    `${name} (${colorScheme})`,
  );
  await shoot(page, name, colorScheme);
}

async function shoot(page, name, kind) {
  if (!world.screenshots) return;
  mkdirSync(world.screenshots, { recursive: true });
  await page.evaluate(() => document.fonts.ready);
  await page.screenshot({ path: join(world.screenshots, `${name}-${kind}.png`), animations: "disabled" });
}
