// Orders, reservations, payments, customers and settings, as the team at the counter uses them.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import {
  accessible,
  accessibleInThemes,
  american,
  as,
  client,
  heading,
  launch,
  narrow,
  settled,
  shoot,
  until,
  userOf,
  visit,
} from "./world.mjs";

let browser;
before(async () => void (browser = await launch()));
after(async () => {
  await browser.close();
  const api = await client(userOf("ADMIN"));
  for (const id of created) await api("DELETE", `/products/${id}`);
});

/** Products that other suites must not order: they do not choose options. */
const created = [];

/** A name that no other suite and no earlier run uses. */
const own = (name) => `${name} ${process.pid}`;

/** Returns the day (YYYY-MM-DD) that is `days` days from now. */
const dayIn = (days) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

/** Creates a product with a choice of sizes, of which one is required, and up to three toppings. */
async function newBowl(name) {
  const api = await client(userOf("MANAGER"));
  const option = (text, priceMinor, maxQuantity = 1) => ({ name: text, priceMinor, maxQuantity });
  const product = await api("POST", "/products", {
    name,
    category: "Bowls",
    priceMinor: 800,
    currency: "EUR",
    optionGroups: [
      { name: "Size", minSelections: 1, maxSelections: 1, options: [option("Regular", 0), option("Large", 200)] },
      { name: "Toppings", maxSelections: 3, options: [option("Cheese", 50, 2), option("Olives", 70)] },
    ],
  });
  created.push(product.id);
  return { api, product };
}

/** Opens the form for a new order and searches for a product. */
async function openForm(page, product) {
  await page.goto("/dashboard/orders/new");
  await heading(page, "New order").waitFor();
  await page.getByLabel("Search the menu").fill(product);
  await page.getByRole("button", { name: new RegExp(`^${product}`) }).click();
}

const place = (page) => page.getByRole("button", { name: "Place order" });
const placed = (page) => page.getByRole("heading", { level: 1, name: /^Order \d+ Received/ }).waitFor();

/** Returns the orders of a guest. */
const ordersOf = (api, guest) => api("GET", `/orders?q=${encodeURIComponent(guest)}`);

describe("a new order", () => {
  it("has options, notes, a table and a time", async () => {
    const [bowl, guest] = [own("Counter bowl"), own("Hedy")];
    const { api } = await newBowl(bowl);
    await as(browser, userOf("MANAGER"), async (page) => {
      await openForm(page, bowl);
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("button", { name: "Add to order" }).click();
      await dialog.getByText("Choose 1; 0 chosen.").waitFor();
      await dialog.getByLabel("Large").check();
      for (let n = 0; n < 2; n++) await dialog.getByRole("button", { name: "Add one Cheese" }).click();
      assert.ok(await dialog.getByRole("button", { name: "Add one Cheese" }).isDisabled());
      await dialog.getByLabel("Note for the kitchen").fill("Not too hot");
      await accessible(page, "Options of a new order");
      await shoot(page, "order-new-options");
      await dialog.getByRole("button", { name: "Add to order" }).click();

      const items = page.getByRole("list", { name: "Items" }).getByRole("listitem");
      await items.getByText("Large, 2× Cheese").waitFor();
      await items.getByText("Not too hot").waitFor();
      await page.getByRole("radio", { name: "Dine in" }).click();
      await page.getByLabel("Table").fill("Terrace 4");
      await page.getByLabel("Name", { exact: true }).fill(guest);
      await page.getByLabel("Phone").fill("0151 2345678");
      await page.getByText("Stored as +491512345678.").waitFor();
      await page.getByRole("radio", { name: "At a time" }).click();
      await page.getByLabel("Day", { exact: true }).fill(dayIn(40));
      await page.getByLabel("Time", { exact: true }).fill("19:30");
      await page.getByText(/^This time cannot be booked\. Choose a time between .* and .*\.$/).waitFor();
      assert.ok(await place(page).isDisabled());
      await page.getByLabel("Day", { exact: true }).fill(dayIn(3));
      await page.getByRole("definition").filter({ hasText: "11.00" }).first().waitFor();
      await accessible(page, "New order");
      await shoot(page, "order-new-filled");
      await place(page).click();
      await placed(page);
    });
    const [order] = await ordersOf(api, guest);
    assert.equal(order.tableLabel, "Terrace 4");
    assert.equal(order.customer.phone, "+491512345678");
    assert.equal(order.totalMinor, 1100);
    assert.match(order.requestedFor, new RegExp(`^${dayIn(3)}`));
    assert.equal(order.items[0].note, "Not too hot");
    assert.deepEqual(
      order.items[0].options.map(({ name, quantity }) => [name, quantity]),
      [
        ["Large", 1],
        ["Cheese", 2],
      ],
    );
  });

  it("keeps its fields when an option or the price changes before it is placed", async () => {
    const [bowl, guest] = [own("Changing bowl"), own("Emmy")];
    const { api, product } = await newBowl(bowl);
    await as(browser, userOf("STAFF"), async (page) => {
      await openForm(page, bowl);
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Regular").check();
      await dialog.getByLabel("Olives").check();
      await dialog.getByRole("button", { name: "Add to order" }).click();
      await page.getByLabel("Name", { exact: true }).fill(guest);
      await page.getByRole("radio", { name: "Delivery" }).click();
      await page.getByLabel("Street and number").fill("1 Road");
      await page.getByLabel("City").fill("Berlin");
      const ready = () => until("the price is known", () => place(page).isEnabled());
      await ready();

      const [size, toppings] = product.optionGroups;
      const soldOut = toppings.options.map((one) => ({ ...one, isAvailable: one.name !== "Olives" }));
      await api("PATCH", `/products/${product.id}`, { optionGroups: [size, { ...toppings, options: soldOut }] });
      await place(page).click();
      await page.getByRole("alert").getByText("Toppings: Olives is not available. Choose another option.").waitFor();
      await page.getByRole("button", { name: `Edit ${bowl}` }).click();
      await dialog.getByText("Olives is not available. Choose another option.", { exact: true }).waitFor();
      await dialog.getByLabel("Olives").uncheck();
      await dialog.getByRole("button", { name: "Apply" }).click();
      await ready();

      await api("PATCH", `/products/${product.id}`, { priceMinor: 900 });
      await place(page).click();
      await page
        .getByRole("alert")
        .getByText(/^The total has changed from .+ to .+\. Check the new total/)
        .waitFor();
      assert.equal(await page.getByLabel("Street and number").inputValue(), "1 Road");
      assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), guest);
      await ready();
      await place(page).click();
      await placed(page);
    });
    const orders = await ordersOf(api, guest);
    assert.deepEqual(
      orders.map((order) => [order.subtotalMinor, order.deliveryAddress.country]),
      [[900, "DE"]],
    );
  });

  it("takes over a customer who is found by phone, with the address and the last order", async () => {
    const [bowl, guest, phone] = [own("Known bowl"), own("Mary"), `+4930${String(process.pid).padStart(7, "1")}`];
    const { api, product } = await newBowl(bowl);
    const large = product.optionGroups[0].options[1].id;
    const first = await api("POST", "/orders", {
      items: [{ productId: product.id, quantity: 2, options: [{ optionId: large }] }],
      fulfillmentType: "DELIVERY",
      deliveryAddress: { line1: "7 Lane", city: "Berlin", country: "DE" },
      customer: { name: guest, phone, email: `mary-${process.pid}@example.com` },
    });
    const admin = await client(userOf("ADMIN"));
    await admin("PATCH", "/settings", { staffMay: ["FIND_CUSTOMERS"] });
    try {
      await as(browser, userOf("STAFF"), async (page) => {
        await page.goto("/dashboard/orders/new");
        await page.getByRole("radio", { name: "Delivery" }).click();
        await page.getByLabel("Phone").fill("030 0");
        await page.getByRole("button", { name: "Find by phone" }).click();
        await page
          .getByText(/No customer has this phone number|is not a phone number/)
          .first()
          .waitFor();
        await page.getByLabel("Phone").fill(`030 ${phone.slice(5)}`);
        await page.getByRole("button", { name: "Find by phone" }).click();
        await page.getByText(guest).waitFor();
        assert.equal(await page.getByLabel("Street and number").inputValue(), "7 Lane");
        await page.getByRole("button", { name: "Add these items" }).click();
        await page.getByRole("list", { name: "Items" }).getByText("Large").waitFor();
        await accessible(page, "A customer found by phone");
        await until("the price is known", () => place(page).isEnabled());
        await place(page).click();
        await placed(page);
      });
    } finally {
      await admin("PATCH", "/settings", { staffMay: [] });
    }
    const orders = await ordersOf(api, guest);
    assert.deepEqual(
      orders.map((order) => [order.customer.id, order.totalMinor, order.deliveryAddress.line1]),
      [
        [first.customer.id, first.totalMinor, "7 Lane"],
        [first.customer.id, first.totalMinor, "7 Lane"],
      ],
    );
  });

  it("is placed once, also if a response is lost", async () => {
    const [soup, guest] = [own("Counter soup"), own("Rosalind")];
    const api = await client(userOf("MANAGER"));
    const { id } = await api("POST", "/products", { name: soup, category: "Soups", priceMinor: 500, currency: "EUR" });
    created.push(id);
    await as(browser, userOf("STAFF"), async (page) => {
      const keys = [];
      await page.route(/\/orders$/, async (route) => {
        if (route.request().method() !== "POST") return route.continue();
        keys.push(route.request().headers()["idempotency-key"]);
        const response = await route.fetch();
        return keys.length === 1 ? route.abort() : route.fulfill({ response });
      });
      await openForm(page, soup);
      await page.getByLabel("Name", { exact: true }).fill(guest);
      await until("the price is known", () => place(page).isEnabled());
      await place(page).dblclick();
      await page.getByRole("alert").getByText("The service cannot be reached").waitFor();
      assert.equal(keys.length, 1, "requests of a double click");
      await until("the price is known", () => place(page).isEnabled());
      await place(page).click();
      await placed(page);
      assert.equal(keys.length, 2);
      assert.equal(keys[0], keys[1]);
    });
    assert.equal((await ordersOf(api, guest)).length, 1);
  });

  it("is left only after a question if it has items", async () => {
    const soup = own("Forgotten soup");
    const api = await client(userOf("MANAGER"));
    const { id } = await api("POST", "/products", { name: soup, priceMinor: 500, currency: "EUR" });
    created.push(id);
    await as(browser, userOf("STAFF"), async (page) => {
      const dialog = page.getByRole("dialog", { name: "Leave without placing the order?" });
      const leave = () => page.getByRole("link", { name: "Back to orders" }).click();
      await openForm(page, soup);
      const quantity = page.getByLabel(`Quantity of ${soup}`);
      await quantity.waitFor();
      await leave();
      await dialog.waitFor();
      await accessible(page, "Leave an order");
      await dialog.getByRole("button", { name: "Keep editing" }).click();
      await dialog.waitFor({ state: "detached" });
      assert.ok(await quantity.isVisible());
      await page.getByRole("button", { name: "Log out" }).click();
      await page.getByText("This page has an order that is not placed.").first().waitFor();
      await leave();
      await dialog.getByRole("button", { name: "Discard order" }).click();
      await heading(page, "Orders").waitFor();
    });
  });

  it("shows its items one below the other on a phone", async () => {
    const bowl = own("A bowl whose long name leaves no room for numbers");
    const { api, product } = await newBowl(bowl);
    const [{ options }] = product.optionGroups;
    const order = await api("POST", "/orders", {
      items: [{ productId: product.id, quantity: 2, options: [{ optionId: options[1].id, quantity: 1 }] }],
      fulfillmentType: "PICKUP",
      customer: { name: own("Lise") },
    });
    await as(browser, userOf("STAFF"), async (page) => {
      const items = page.getByRole("region", { name: "Items" });
      await page.goto(`/dashboard/orders/${order.id}`);
      await items.getByText(bowl).waitFor();
      await page.setViewportSize({ width: 360, height: 740 });
      await items.getByText("Quantity: 2", { exact: true }).waitFor();
      await until("the items fit a phone", () => items.evaluate((region) => region.scrollWidth <= region.clientWidth));
      await narrow(page, "an order");
      await accessible(page, "an order on a phone");
    });
    await api("PATCH", `/orders/${order.id}/status`, { status: "COMPLETED" });
  });

  it("fits a phone and a tablet", async () => {
    const bowl = own("Narrow bowl");
    await newBowl(bowl);
    await as(browser, userOf("MANAGER"), async (page) => {
      await openForm(page, bowl);
      for (const [name, width, height] of [
        ["phone", 360, 740],
        ["tablet", 820, 1180],
      ]) {
        await page.setViewportSize({ width, height });
        await narrow(page, `Options on a ${name}`);
        await shoot(page, `order-new-options-${name}`);
      }
      await page.getByRole("dialog").getByLabel("Large").check();
      await page.getByRole("dialog").getByRole("button", { name: "Add to order" }).click();
      await page.getByRole("radio", { name: "Delivery" }).click();
      await page.getByRole("radio", { name: "At a time" }).click();
      await settled(page);
      for (const [name, width, height] of [
        ["phone", 360, 740],
        ["tablet", 820, 1180],
      ]) {
        await page.setViewportSize({ width, height });
        await narrow(page, `New order on a ${name}`);
        await shoot(page, `order-new-${name}`);
      }
      // Below the menu, the order is a tap away from it.
      await page.getByLabel("Search the menu").scrollIntoViewIfNeeded();
      await page.getByText(/^1 item/).waitFor();
      await page.getByRole("button", { name: "Review order" }).click();
      await page.locator("section:focus").getByRole("heading", { name: "Order", exact: true }).waitFor();
    });
  });
});

describe("an unpaid order", () => {
  it("is skipped to completed only after a question", async () => {
    const api = await client(userOf("MANAGER"));
    const product = await api("POST", "/products", { name: own("Unpaid soup"), priceMinor: 500, currency: "EUR" });
    created.push(product.id);
    const order = await api("POST", "/orders", {
      items: [{ productId: product.id, quantity: 1 }],
      fulfillmentType: "PICKUP",
      customer: { name: own("Unpaid") },
    });
    const statusOf = async () => (await api("GET", `/orders/${order.id}`)).status;
    await as(browser, userOf("STAFF"), async (page) => {
      await page.goto(`/dashboard/orders/${order.id}`);
      const skip = async (choice) => {
        await page.getByRole("button", { name: "Skip to…" }).click();
        await page.getByRole("menuitem", { name: "Complete" }).click();
        await page.getByRole("dialog").getByRole("button", { name: choice }).click();
        await page.getByRole("dialog").waitFor({ state: "detached" });
      };
      await skip("Keep open");
      assert.equal(await statusOf(), "RECEIVED");
      await skip("Complete without payment");
      await page.getByRole("heading", { level: 1, name: `Order ${order.orderId} Completed` }).waitFor();
    });
  });
});

describe("settings", () => {
  const save = (page) => page.getByRole("button", { name: "Save" }).click();
  const saved = (page) => page.getByText("Settings saved").first().waitFor();
  /** The name of a weekday in the language of the browser, 0 = Monday. */
  const weekday = (n) =>
    new Intl.DateTimeFormat("en-US", { weekday: "long", timeZone: "UTC" }).format(Date.UTC(2024, 0, 1 + n));

  it("have opening hours, closures and deadlines", async () => {
    const api = await client(userOf("ADMIN"));
    const before = await api("GET", "/settings");
    const [friday, saturday, sunday] = [4, 5, 6].map(weekday);
    try {
      await as(browser, userOf("ADMIN"), async (page) => {
        await visit(page, "Settings");
        await page.getByRole("radio", { name: "Pickup" }).click();
        await page.getByRole("button", { name: "Set hours" }).click();
        const day = (name) => page.getByRole("listitem", { name, exact: true });
        await day(friday).getByLabel(`${friday}, opens`).fill("18:00");
        await day(friday).getByLabel(`${friday}, closes`).fill("02:00");
        await day(friday).getByText("next day").waitFor();
        await page.getByRole("button", { name: `Copy ${friday}` }).click();
        await page.getByRole("menuitem", { name: saturday, exact: true }).click();
        await day(saturday).getByText("next day").waitFor();
        await page.getByRole("button", { name: `24 hours on ${sunday}` }).click();
        await day(sunday).getByText("24 hours", { exact: true }).waitFor();

        await page.getByRole("button", { name: "Add closure" }).click();
        const closure = page.getByRole("list", { name: "Closures" }).getByRole("listitem");
        await closure.getByLabel("First day").fill("2099-12-24");
        await closure.getByLabel("Last day").fill("2099-12-26");
        await closure.getByLabel("Reason").fill("Christmas");
        await closure.getByLabel("Delivery").uncheck();
        await page.getByLabel("Minutes to prepare, pickup").fill("25");
        await page.getByLabel("Remind after minutes").fill("10");
        await page.getByLabel("Cancel after minutes").fill("10");
        await save(page);
        await page.getByText("must be more than the 10 minutes of the reminder").waitFor();
        await day(sunday).getByText(`Overlaps ${saturday} 18:00–02:00.`).waitFor();
        await accessible(page, "Settings with errors");
        await shoot(page, "settings-hours");
        await day(sunday).getByLabel(`${sunday}, opens`).fill("02:00");
        await page.getByLabel("Cancel after minutes").fill("15");
        await save(page);
        await saved(page);
        for (const [name, width, height] of [
          ["phone", 360, 740],
          ["tablet", 820, 1180],
        ]) {
          await page.setViewportSize({ width, height });
          await day(friday).scrollIntoViewIfNeeded();
          await narrow(page, `Settings on a ${name}`);
          await shoot(page, `settings-${name}`);
        }
      });
      const changed = await api("GET", "/settings");
      assert.deepEqual(changed.openingHours.PICKUP, {
        ...Object.fromEntries(["mon", "tue", "wed", "thu"].map((one) => [one, [{ from: "11:00", to: "22:00" }]])),
        fri: [{ from: "18:00", to: "02:00" }],
        sat: [{ from: "18:00", to: "02:00" }],
        sun: [{ from: "02:00", to: "24:00" }],
      });
      assert.deepEqual(changed.closures, [
        { from: "2099-12-24", to: "2099-12-26", reason: "Christmas", types: ["DINE_IN", "PICKUP"] },
      ]);
      assert.equal(changed.prepMinutes.PICKUP, 25);
      assert.deepEqual(changed.acceptance, { remindAfterMinutes: 10, cancelAfterMinutes: 15 });
    } finally {
      const { closures, prepMinutes, acceptance } = before;
      await api("PATCH", "/settings", { openingHours: { PICKUP: null }, closures, prepMinutes, acceptance });
    }
  });

  it("keep the changes of two users, and ask about a field that both have changed", async () => {
    const api = await client(userOf("ADMIN"));
    const before = await api("GET", "/settings");
    try {
      await as(browser, userOf("ADMIN"), async (page) => {
        await visit(page, "Settings");
        await page.getByLabel("Seats").fill("43");
        await api("PATCH", "/settings", { bookingMaxDays: 91 });
        let reads = 0;
        page.on("response", (one) => {
          if (one.request().method() === "GET" && one.url().endsWith("/settings")) reads++;
        });
        await save(page);
        await saved(page);
        // The form reads the settings for the conflict and once more after it. Later, it would find the next change
        // before the save, and ask already then.
        await until("the form has read the settings again", async () => reads >= 2);
        await page.waitForFunction(() => document.querySelector("[name=bookingMaxDays]").value === "91");
        assert.equal((await api("GET", "/settings")).seats, 43);

        await page.getByLabel("Seats").fill("44");
        await api("PATCH", "/settings", { seats: 45 });
        await save(page);
        await page.getByRole("alert").getByText("Seats: now “45”").waitFor();
        assert.equal(await page.getByLabel("Seats").inputValue(), "44");
        await save(page);
        await until("the user's value is stored", async () => (await api("GET", "/settings")).seats === 44);
      });
    } finally {
      await api("PATCH", "/settings", { seats: before.seats, bookingMaxDays: before.bookingMaxDays });
    }
  });

  it("are not lost when the user leaves the page or switches the store", async () => {
    await as(browser, userOf("OWNER"), async (page) => {
      await visit(page, "Settings");
      const seats = await page.getByLabel("Seats").inputValue();
      await page.getByLabel("Seats").fill("46");
      await page.getByText("Unsaved changes").waitFor();
      const dialog = page.getByRole("dialog", { name: "Leave without saving?" });
      await page.getByRole("link", { name: "Products", exact: true }).click();
      await dialog.getByRole("button", { name: "Keep editing" }).click();
      await dialog.waitFor({ state: "detached" });
      assert.equal(await page.getByLabel("Seats").inputValue(), "46");
      await page.getByRole("button", { name: /^Store: / }).click();
      await page.getByRole("menuitem").filter({ hasNotText: "(active)" }).first().click();
      await page.getByText("This page has unsaved changes. Save or discard them first.").first().waitFor();
      assert.equal(await page.getByLabel("Seats").inputValue(), "46");
      await page.getByRole("link", { name: "Products", exact: true }).click();
      await dialog.getByRole("button", { name: "Discard changes" }).click();
      await heading(page, "Products").waitFor();
      await visit(page, "Settings");
      await page.waitForFunction((value) => document.querySelector("[name=seats]").value === value, seats);
    });
  });
});

describe("payments", () => {
  it("are filtered, linked to their orders and refunded", async () => {
    const soup = own("Paid soup");
    const api = await client(userOf("MANAGER"));
    const product = await api("POST", "/products", { name: soup, priceMinor: 1500, currency: "EUR" });
    created.push(product.id);
    const provider = `TERMINAL-${process.pid}`;
    const orders = [];
    for (const [n, status] of ["SUCCEEDED", "FAILED"].entries()) {
      const order = await api("POST", "/orders", {
        items: [{ productId: product.id, quantity: 1 }],
        fulfillmentType: "PICKUP",
        customer: { name: own("Payer") },
      });
      orders.push(order);
      await api("POST", `/orders/${order.id}/payments`, {
        provider,
        transactionId: `${provider}-${n}`,
        status,
        amountMinor: 1500,
        currency: "EUR",
        paymentMethod: "card",
        ...(status === "FAILED" ? { errorCode: "declined" } : {}),
      });
    }
    await as(browser, userOf("MANAGER"), async (page) => {
      await visit(page, "Payments");
      await page.getByLabel("Name of the provider").fill(provider.toLowerCase());
      await page.waitForURL(/provider=/);
      const rows = page.getByRole("table").locator("tbody tr");
      await until("both payments are shown", async () => (await rows.count()) === 2);
      await page.getByLabel("Status").selectOption({ label: "Failed" });
      await rows.filter({ hasText: "declined" }).waitFor();
      await until("one payment is shown", async () => (await rows.count()) === 1);
      assert.equal(await page.getByRole("button", { name: /^Refund/ }).count(), 0);
      await page.getByLabel("Status").selectOption({ label: "All payments" });
      await page.getByLabel("Order number").fill(`#${orders[0].orderId}`);
      await page.waitForURL(/order=/);
      await page.getByRole("button", { name: `Refund the payment of order ${orders[0].orderId}` }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Amount in EUR").fill("4");
      await dialog.getByLabel("Reason").fill("It was cold");
      await dialog.getByRole("button", { name: "Record refund" }).click();
      await rows.getByText("refunded").waitFor();
      await accessible(page, "Payments");
      await shoot(page, "payments");
      for (const [name, width, height] of [
        ["phone", 360, 740],
        ["tablet", 820, 1180],
      ]) {
        await page.setViewportSize({ width, height });
        await narrow(page, `Payments on a ${name}`);
        await shoot(page, `payments-${name}`);
      }
      await page.getByLabel("First day").fill(dayIn(2));
      await page.getByText("No payments match these filters").waitFor();
      await page.getByRole("button", { name: "Clear filters" }).click();
      await rows
        .getByRole("link", { name: `#${orders[1].orderId}`, exact: true })
        .first()
        .click();
      await page.getByRole("heading", { level: 1, name: `Order ${orders[1].orderId}` }).waitFor();
    });
    for (const { id } of orders)
      await api("PATCH", `/orders/${id}/status`, { status: "CANCELLED", cancellationReason: "A test" });
  });
});

describe("reservations", () => {
  const day = dayIn(25);
  const time = (page, name) => page.getByRole("slider", { name: `Time of ${name}`, exact: true });
  /** Waits until the plan shows a reservation at a time. */
  const shows = (page, name, text) =>
    until(`${name} at ${text}`, async () => american(text).test(await time(page, name).getAttribute("aria-valuetext")));

  /** Waits until a change is saved. Keys are ignored until then. */
  const saved = (page, name) =>
    until(`${name} is saved`, async () => (await time(page, name).getAttribute("aria-busy")) === null);

  it("are moved by drag and by keyboard, and return when no seats are free", async (test) => {
    const api = await client(userOf("STAFF"));
    const { seats } = await (await client(userOf("ADMIN")))("GET", "/settings");
    const { store } = await api("GET", "/auth/me");
    const at = (clock) =>
      new Date(Date.parse(`${day}T${clock}:00Z`) - offset(store.timezone, `${day}T${clock}:00Z`)).toISOString();
    const [small, large] = [own("Ida"), own("Whole house")];
    const book = (name, clock, partySize) =>
      api("POST", "/reservations", { customer: { name }, partySize, startAt: at(clock), durationMinutes: 60 });
    const moving = await book(small, "12:00", 2);
    const full = await book(large, "20:00", seats);
    test.after(async () => {
      for (const { id } of [moving, full]) await api("PATCH", `/reservations/${id}/status`, { status: "CANCELLED" });
    });
    const startOf = async () => (await api("GET", `/reservations/${moving.id}`)).startAt;
    await as(browser, userOf("STAFF"), async (page) => {
      await page.goto(`/dashboard/reservations?day=${day}`);
      await shows(page, small, "12:00 – 13:00");
      await accessible(page, "Day plan");
      await shoot(page, "reservations-plan");
      const boxes = (locator) => locator.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()));
      const hours = await boxes(page.getByRole("region", { name: "Day plan" }).locator("[aria-hidden] > span"));
      assert.ok(hours.length > 5);
      for (const [i, { right }] of hours.slice(0, -1).entries())
        assert.ok(right <= hours[i + 1].left, `hour ${i} of the day plan overlaps the next one`);
      const wide = await page
        .locator("li > span")
        .evaluateAll((all) =>
          all.filter((one) => one.scrollWidth > one.clientWidth && one.textContent.includes(" – ")),
        );
      assert.equal(wide.length, 0, "the time of a reservation is wider than its column");

      const bar = time(page, small);
      await bar.scrollIntoViewIfNeeded();
      const box = await bar.boundingBox();
      const { width } = await bar.locator("..").boundingBox();
      const steps = Number(await bar.getAttribute("aria-valuemax"));
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
      await page.mouse.move(x, y);
      await page.mouse.down();
      await page.mouse.move(x + (width / steps) * 4, y, { steps: 4 });
      await page.mouse.move(x + (width / steps) * 8, y, { steps: 4 });
      await shows(page, small, "14:00 – 15:00");
      await page.mouse.up();
      await page
        .getByText(american(`${small} moved to 14:00`))
        .first()
        .waitFor();
      assert.equal(await startOf(), at("14:00"));
      await saved(page, small);

      await bar.focus();
      for (let n = 0; n < 3; n++) await page.keyboard.press("ArrowRight");
      await shows(page, small, "14:45 – 15:45");
      await page.keyboard.press("Escape");
      await shows(page, small, "14:00 – 15:00");
      for (let n = 0; n < 2; n++) await page.keyboard.press("ArrowLeft");
      await page.keyboard.press("Enter");
      await page
        .getByText(american(`${small} moved to 13:30`))
        .first()
        .waitFor();
      assert.equal(await startOf(), at("13:30"));
      await saved(page, small);

      for (let n = 0; n < 7; n++) await page.keyboard.press("PageUp");
      await shows(page, small, "20:30 – 21:30");
      await page.keyboard.press("Enter");
      await page.getByText(`${small} was not moved. Not enough seats are free at that time.`).first().waitFor();
      await shows(page, small, "13:30 – 14:30");
      assert.equal(await startOf(), at("13:30"));

      await page.getByRole("button", { name: `Edit: ${small}` }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Guests").fill("4");
      await dialog.getByLabel("Duration in minutes").fill("90");
      await dialog.getByLabel("Table").fill("Window 2");
      await dialog.getByLabel("Notes").fill("A high chair");
      await dialog.getByLabel("Day").fill(dayIn(800));
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.getByText(/^This time cannot be booked\. Choose a time between .* and .*\.$/).waitFor();
      assert.equal(await dialog.getByLabel("Notes").inputValue(), "A high chair");
      await dialog.getByLabel("Day").fill(day);
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.waitFor({ state: "detached" });
      await shows(page, small, "13:30 – 15:00");
      const line = page.getByRole("list", { name: "Reservations" }).getByRole("listitem").filter({ hasText: small });
      await line.getByText("Window 2").waitFor();
      await line.getByText("4 seats").waitFor();
      for (const [name, width, height] of [
        ["phone", 360, 740],
        ["tablet", 820, 1180],
      ]) {
        await page.setViewportSize({ width, height });
        // The plot of the seats follows the window after a moment.
        await until(`reservations fit a ${name}`, () =>
          page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
        );
        await shoot(page, `reservations-${name}`);
      }
    });
    const changed = await api("GET", `/reservations/${moving.id}`);
    assert.deepEqual(
      [changed.partySize, changed.durationMinutes, changed.tableLabel, changed.notes, changed.startAt],
      [4, 90, "Window 2", "A high chair", at("13:30")],
    );
  });

  it("lose the data of their guest when they have ended", async () => {
    const api = await client(userOf("ADMIN"));
    const guest = own("Olga");
    const day = dayIn(26);
    const booked = await api("POST", "/reservations", {
      customer: { name: guest, email: `olga-${process.pid}@example.com` },
      partySize: 3,
      startAt: `${day}T12:00:00Z`,
      notes: "Olga's birthday",
    });
    const erase = (page) => page.getByRole("button", { name: `Erase: ${guest}` });
    await as(browser, userOf("ADMIN"), async (page) => {
      await page.goto(`/dashboard/reservations?day=${day}`);
      await page.getByRole("button", { name: `Cancel: ${guest}` }).waitFor();
      assert.equal(await erase(page).count(), 0, "a reservation that has not ended can be erased");
    });
    const reason = "Olga is ill";
    await api("PATCH", `/reservations/${booked.id}/status`, { status: "CANCELLED", cancellationReason: reason });
    await as(browser, userOf("MANAGER"), async (page) => {
      await page.goto(`/dashboard/reservations?day=${day}`);
      await page.getByText(reason).waitFor();
      assert.equal(await erase(page).count(), 0, "a manager can erase");
    });
    await as(browser, userOf("ADMIN"), async (page) => {
      await page.goto(`/dashboard/reservations?day=${day}`);
      const dialog = page.getByRole("dialog", { name: `Erase the data of ${guest}?` });
      const open = async () => {
        await erase(page).focus();
        await page.keyboard.press("Enter");
        await dialog.waitFor();
      };
      await open();
      await accessibleInThemes(page, "reservation-erase");
      await page.setViewportSize({ width: 360, height: 740 });
      await narrow(page, "Erase reservation");
      await dialog.getByRole("button", { name: "Cancel" }).click();
      await dialog.waitFor({ state: "detached" });
      assert.equal((await api("GET", `/reservations/${booked.id}`)).customer.name, guest);
      await open();
      await dialog.getByRole("button", { name: "Erase personal data" }).focus();
      await page.keyboard.press("Enter");
      await page.getByText(`The data of ${guest} is erased`).first().waitFor();
      const lines = page.getByRole("list", { name: "Reservations" }).getByRole("listitem");
      await lines.filter({ hasText: "Erased guest" }).filter({ hasText: "3 seats" }).waitFor();
      await lines.filter({ hasText: guest }).waitFor({ state: "detached" });
      await until("the focus is on the line", () =>
        lines.filter({ hasText: "Erased guest" }).evaluate((line) => line === document.activeElement),
      );
      assert.equal(await page.getByText(reason).count(), 0);
    });
    const erased = await api("GET", `/reservations/${booked.id}`);
    assert.deepEqual(
      [erased.customer.name, erased.customer.email ?? "", erased.notes, erased.cancellationReason ?? ""],
      ["", "", "", ""],
    );
    assert.equal(erased.partySize, 3);
  });

  /** Returns the milliseconds by which a time zone is ahead of UTC at an instant. */
  function offset(timeZone, instant) {
    const local = new Intl.DateTimeFormat("sv", { timeZone, dateStyle: "short", timeStyle: "medium" });
    return Date.parse(`${local.format(new Date(instant)).replace(" ", "T")}Z`) - Date.parse(instant);
  }
});
