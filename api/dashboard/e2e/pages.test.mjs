import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import {
  accessibleInThemes,
  as,
  client,
  heading,
  home,
  launch,
  logIn,
  menu,
  narrow,
  sections,
  settled,
  shoot,
  until,
  userOf,
  visit,
  world,
} from "./world.mjs";

/** The pages below the sections: path and heading (with its level), by name of the screenshot. */
const details = {};
/** Paths to use for the screenshots of sections that are empty at their default path. */
const populated = {};

let browser;
before(async () => {
  browser = await launch();
  const api = await client(userOf("OWNER"));
  const secret = "a secret that is long enough to be one";
  const shop = await api("POST", "/webhooks", {
    url: `${world.receiver}/204`,
    events: ["order.created", "order.status_updated"],
    secret,
  });
  const till = await api("POST", "/webhooks", { url: `${world.receiver}/503`, events: ["order.completed"], secret });

  const all = await api("GET", "/products?limit=100&orderable=true");
  const products = all
    .filter(({ optionGroups }) => optionGroups.every(({ minSelections }) => minSelections === 0))
    .filter(({ stockQuantity }) => (stockQuantity ?? Infinity) >= 100);
  const item = (n) => ({ productId: products[n % products.length].id, quantity: (n % 3) + 1 });
  const guests = ["Ada Lovelace", "Alan Turing", "Grace Hopper", "Edsger Dijkstra", "Barbara Liskov", "Donald Knuth"];
  const orders = [];
  for (let n = 0; n < 12; n++) {
    const customer = { name: guests[n % guests.length], phone: `+4915112345${n}00` };
    orders.push(
      await api("POST", "/orders", {
        items: [item(n), item(n + 4)],
        fulfillmentType: n % 2 ? "PICKUP" : "DINE_IN",
        customer,
        note: n % 5 ? undefined : "No onions, please.",
      }),
    );
  }
  for (const [n, status] of Object.entries({
    0: "COMPLETED",
    1: "COMPLETED",
    2: "READY",
    3: "PREPARING",
    4: "CONFIRMED",
    5: "CONFIRMED",
  })) {
    await api("PATCH", `/orders/${orders[n].id}/status`, { status });
  }
  const [{ id, totalMinor, currency, customer }] = orders;
  const payment = {
    provider: "STRIPE",
    transactionId: "pi_3MtwBwLkdIwHu7ix",
    paymentMethod: "card",
    cardLast4: "4242",
    status: "SUCCEEDED",
    amountMinor: totalMinor,
    currency,
  };
  await api("POST", `/orders/${id}/payments`, payment);

  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  for (const [n, time] of ["11:00", "11:30", "17:00", "17:30", "18:00", "18:30"].entries()) {
    const made = await api("POST", "/reservations", {
      customer: { name: guests[n], phone: "+4915112345678" },
      partySize: n + 2,
      startAt: `${tomorrow}T${time}:00Z`,
    });
    if (n % 2) await api("PATCH", `/reservations/${made.id}/status`, { status: "CONFIRMED" });
  }
  await until(
    "the dead letters of the failing webhook",
    async () => (await api("GET", `/deliveries?status=dead_letter&webhookId=${till.id}`)).length === 2,
  );
  const [attempt] = await api("GET", `/webhooks/${till.id}/deliveries`);
  populated.Reservations = `/reservations?day=${tomorrow}`;
  Object.assign(details, {
    "orders-all": ["/orders?view=all", "Orders"],
    order: [`/orders/${id}`, /^Order \d+/],
    "order-new": ["/orders/new", "New order"],
    customer: [`/customers/${customer.id}`, /Ada Lovelace/],
    webhook: [`/webhooks/${shop.id}`, /204/],
    "webhook-attempt": [`/webhooks/${till.id}?attempt=${attempt.id}`, /^Attempt 2 of order.completed/, 2],
    events: ["/webhooks/events", "Events"],
    event: [`/webhooks/events/${attempt.eventId}`, "order.completed"],
    delivery: [`/webhooks/deliveries/${attempt.deliveryId}`, "Delivery of order.completed"],
    security: ["/security", "Security"],
    "accept-invite": ["/accept-invite#0123456789abcdef", "Accept invitation"],
  });
});
after(() => browser.close());

describe("pages", () => {
  it("Analytics shows totals that equal the sum of the rows", async () => {
    await as(browser, userOf("ADMIN"), async (page) => {
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
          assert.equal(
            cells.map(number).reduce((a, b) => a + b, 0),
            number(sum),
            column,
          );
        }
      }
    });
  });

  it("Settings rejects a conflicting change and an invalid value", async () => {
    await as(browser, userOf("ADMIN"), async (page, context) => {
      const other = await context.newPage();
      await visit(page, "Settings");
      await other.goto("/dashboard/settings");
      await other.getByLabel("Fee in EUR").fill("3.5");
      await other.getByRole("button", { name: "Save" }).click();
      await other.getByText("Settings saved").first().waitFor();
      await page.getByLabel("Fee in EUR").fill("4");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("alert").getByText("Fee in EUR: now “3.50”").waitFor();
      await page.getByRole("button", { name: "Discard changes" }).click();
      await page.waitForFunction(() => document.querySelector("[name='deliveryFees.EUR']").value === "3.50");
      await page.getByLabel("Seats").fill("-1");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("must be a whole number from 0 to 100000").waitFor();
      await page.getByRole("button", { name: "Discard changes" }).click();
    });
  });

  it("Plan explains a change, applies it and records it in the audit trail", async () => {
    await as(browser, userOf("OWNER"), async (page) => {
      await visit(page, "Plan");
      await page.getByRole("button", { name: "Choose Grow" }).click();
      await page.getByText("None are dropped.").waitFor();
      await page.getByRole("button", { name: "Change to Grow" }).click();
      await page.getByRole("meter", { name: "Deliveries this hour" }).waitFor();
      await visit(page, "Audit trail");
      await page.getByLabel("Action", { exact: true }).selectOption({ label: "Plan changed" });
      await page.getByText("ENTERPRISE → GROW").waitFor();
      await until("the trail has one entry", async () => (await page.locator("tbody tr").count()) === 1);
      assert.match(page.url(), /action=plan.changed/);
    });
  });
});

describe("every page", () => {
  it("is accessible in both themes and fits the width of a phone", async () => {
    const desktop = { width: 1280, height: 900 };
    const check = async (page, name) => {
      await accessibleInThemes(page, name);
      await page.setViewportSize({ width: 360, height: 740 });
      await narrow(page, name);
      if (name === "analytics") await shoot(page, "analytics-phone");
      await page.setViewportSize(desktop);
    };
    await as(
      browser,
      null,
      async (page) => {
        await page.goto("/dashboard/");
        await page.getByLabel("Email").waitFor();
        await check(page, "login");
        await logIn(page, userOf("OWNER"));
        for (const [name, [path]] of Object.entries(sections)) {
          if (populated[name]) await page.goto(`/dashboard${populated[name]}`);
          else await visit(page, name);
          await heading(page, name).waitFor();
          await settled(page);
          if (name === "Analytics") await page.locator("figure svg text").first().waitFor();
          await check(page, path.slice(1));
        }
        for (const [name, [path, title, level = 1]] of Object.entries(details)) {
          await page.goto(`/dashboard${path}`);
          await page.getByRole("heading", { level, name: title }).waitFor();
          await settled(page);
          await check(page, name);
        }
      },
      { viewport: desktop },
    );
  });

  it("is opened by the menu of a phone", async () => {
    await as(browser, userOf("OWNER"), async (page) => {
      await page.setViewportSize({ width: 360, height: 740 });
      await page.goto("/dashboard/orders");
      for (const name of ["Products", "Settings"]) {
        await page.getByRole("button", { name: "Open menu" }).click();
        await page.getByRole("link", { name, exact: true }).click();
        await heading(page, name).waitFor();
        await menu(page).waitFor({ state: "hidden" });
      }
    });
  });

  it("has the theme of the browser until the user chooses another one", async () => {
    await as(
      browser,
      userOf("STAFF"),
      async (page) => {
        const dark = () => page.evaluate(() => document.documentElement.classList.contains("dark"));
        await home(page);
        assert.equal(await dark(), true);
        await page.getByRole("button", { name: "Use light theme" }).click();
        assert.equal(await dark(), false);
        await page.reload();
        await menu(page).waitFor();
        assert.equal(await dark(), false);
      },
      { colorScheme: "dark" },
    );
  });
});
