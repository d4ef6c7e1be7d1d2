// Changes of orders that are already placed: by the team at the counter, for the kitchen.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { accessibleInThemes, as, client, launch, narrow, shoot, until, untilTexts, userOf } from "./world.mjs";

let browser;
let manager;
const products = {};
before(async () => {
  browser = await launch();
  manager = await client(userOf("MANAGER"));
  for (const [name, priceMinor] of [
    ["Soup", 600],
    ["Stew", 1200],
    ["Juice", 300],
  ]) {
    const text = `${name} ${process.pid}`; // that no other suite finds
    products[name] = await manager("POST", "/products", {
      name: text,
      category: "Change",
      priceMinor,
      currency: "EUR",
    });
  }
});
after(async () => {
  await browser.close();
  const admin = await client(userOf("ADMIN"));
  for (const { id } of Object.values(products)) await admin("DELETE", `/products/${id}`);
});

/** Places an order of two soups and a stew at a table, in a status. */
async function place(guest, status = "RECEIVED") {
  const order = await manager("POST", "/orders", {
    items: [
      { productId: products.Soup.id, quantity: 2 },
      { productId: products.Stew.id, quantity: 1, note: "no leek" },
    ],
    fulfillmentType: "DINE_IN",
    tableLabel: "4",
    customer: { name: guest },
  });
  return status === "RECEIVED" ? order : manager("PATCH", `/orders/${order.id}/status`, { status });
}

const current = ({ id }) => manager("GET", `/orders/${id}`);

/** Completes an order, so that it leaves the board. */
const complete = ({ id }) => manager("PATCH", `/orders/${id}/status`, { status: "COMPLETED" });

const openForm = async (page, order) => {
  await page.goto(`/dashboard/orders/${order.id}/change`);
  await page.getByRole("heading", { level: 1, name: `Change order ${order.orderId}` }).waitFor();
};

const mine = (page) => page.getByRole("region", { name: "Your changes" }).getByRole("listitem");
const save = (page) => page.getByRole("button", { name: "Save changes" });
const nameOf = (name) => products[name].name;
const addOne = (page, name) => page.getByRole("button", { name: `Add one ${nameOf(name)}` }).click();
const shown = (page, order) =>
  page.getByRole("heading", { level: 1, name: new RegExp(`^Order ${order.orderId} `) }).waitFor();
const quantities = ({ items }) => items.map(({ productName, quantity }) => [productName, quantity]);

describe("a change of an order", () => {
  it("shows the difference and the new total before it is saved, and its history in words", async () => {
    const order = await place("Ada");
    await as(browser, userOf("STAFF"), async (page) => {
      await page.goto("/dashboard/orders");
      await page.getByRole("link", { name: `Change order ${order.orderId}` }).click();
      await page.getByRole("heading", { level: 1, name: `Change order ${order.orderId}` }).waitFor();
      assert.ok(await save(page).isDisabled());
      await page.getByLabel("Search the menu").fill(nameOf("Juice"));
      await page.getByRole("button", { name: new RegExp(`^${nameOf("Juice")}`) }).click();
      await addOne(page, "Soup");
      await page.getByRole("button", { name: `Remove one ${nameOf("Stew")}` }).click();
      await page.getByLabel("Table").fill("Terrace 5");
      await untilTexts(mine(page), [
        `Changed: 2 × ${nameOf("Soup")} → 3 × ${nameOf("Soup")}`,
        `Removed: 1 × ${nameOf("Stew")} (no leek)`,
        `Added: 1 × ${nameOf("Juice")}`,
        "Table: 4 → Terrace 5",
      ]);
      await page.getByText("The total changes from €24.00 to €21.00.").waitFor();
      await accessibleInThemes(page, "order-change");
      for (const [name, width] of [
        ["tablet", 820],
        ["phone", 390],
      ]) {
        await page.setViewportSize({ width, height: 1100 });
        await narrow(page, `order-change-${name}`);
        await shoot(page, `order-change-${name}`);
      }
      await page.setViewportSize({ width: 1280, height: 720 });
      assert.deepEqual(quantities(await current(order)), quantities(order));
      await save(page).click();
      await shown(page, order);
      await page.getByText(`Changed: 2 × ${nameOf("Soup")} → 3 × ${nameOf("Soup")}`).waitFor();
      await page.getByText("Items and table changed").waitFor();
      await shoot(page, "order-changed");
    });
    const changed = await current(order);
    assert.deepEqual(quantities(changed), [
      [nameOf("Soup"), 3],
      [nameOf("Juice"), 1],
    ]);
    assert.equal(changed.items[0].id, order.items[0].id);
    assert.equal(changed.tableLabel, "Terrace 5");
    await complete(order);
  });

  it("has the errors of its fields, and shows the stock of a dish that is nearly gone", async () => {
    const order = await place("Grace");
    await manager("POST", `/products/${products.Soup.id}/stock`, { set: 1 });
    try {
      await as(browser, userOf("MANAGER"), async (page) => {
        await openForm(page, order);
        await page.getByLabel(`Quantity of ${nameOf("Soup")}`).fill("9");
        await page.getByRole("alert").getByText("Only 1 left. Reduce the quantity.").waitFor();
        await page.getByLabel(`Quantity of ${nameOf("Soup")}`).fill("1"); // a lower quantity is always possible
        await until("the price is known", () => save(page).isEnabled());
        await page.getByLabel("Discount in EUR").fill("90");
        await page.getByLabel("Discount in EUR").and(page.locator("[aria-invalid]")).waitFor();
        assert.ok(await save(page).isDisabled());
      });
    } finally {
      await manager("POST", `/products/${products.Soup.id}/stock`, { set: null });
    }
    await complete(order);
  });

  it("of two users keeps the entries of both", async () => {
    const order = await place("Emmy");
    await as(browser, userOf("STAFF"), async (first, context) => {
      await first.route("**/orders/stream", (route) => route.abort()); // learns of the other change when it saves
      await openForm(first, order);
      await addOne(first, "Soup");
      await first.getByLabel("Note", { exact: true }).fill("Birthday");
      await until("the price is known", () => save(first).isEnabled());

      const second = await context.newPage();
      await openForm(second, order);
      await addOne(second, "Stew");
      await addOne(second, "Soup");
      await addOne(second, "Soup");
      await until("the price is known", () => save(second).isEnabled());
      await save(second).click();
      await shown(second, order);

      await save(first).click();
      const conflict = first.getByRole("alert").filter({ hasText: "Another user has changed this order." });
      await conflict.getByText(`Changed: 2 × ${nameOf("Soup")} → 4 × ${nameOf("Soup")}`).waitFor();
      await conflict.getByText("yours would replace the other one").waitFor();
      assert.equal(await first.getByLabel("Note", { exact: true }).inputValue(), "Birthday");
      assert.ok(await save(first).isDisabled());
      await accessibleInThemes(first, "order-change-conflict");
      await conflict.getByRole("button", { name: "Add my changes to these" }).click();
      await conflict.waitFor({ state: "detached" });
      await until("the price is known", () => save(first).isEnabled());
      await save(first).click();
      await shown(first, order);
    });
    const changed = await current(order);
    assert.deepEqual(
      quantities(changed).map(([, quantity]) => quantity),
      [3, 2],
    );
    assert.equal(changed.note, "Birthday");
    await complete(order);
  });

  it("continues when a payment is recorded meanwhile, and ends when the order is completed", async () => {
    const order = await place("Mary", "CONFIRMED");
    await as(browser, userOf("STAFF"), async (page) => {
      await openForm(page, order);
      await addOne(page, "Stew");
      await until("the price is known", () => save(page).isEnabled());
      await manager("POST", `/orders/${order.id}/payments`, {
        ...{ provider: "CASH", transactionId: `change-${process.pid}`, status: "SUCCEEDED", amountMinor: 100 },
        ...{ currency: "EUR", paymentMethod: "cash" },
      });
      await save(page).click();
      await shown(page, order);
      await openForm(page, order);
      await page.getByLabel("Table").fill("9");
      await complete(order);
      await page.getByText("The order is now completed and can no longer be changed.").waitFor();
      assert.ok(await save(page).isDisabled());
      assert.equal(await page.getByLabel("Table").inputValue(), "9");
    });
    assert.equal((await current(order)).items[1].quantity, 2);
  });

  it("shows the kitchen what has changed since the slip was printed, on the card and on the slip", async () => {
    const order = await place("Lise", "PREPARING");
    await as(browser, userOf("STAFF"), async (page, context) => {
      const spy = () => {
        globalThis.printed = 0;
        globalThis.print = () => globalThis.printed++;
      };
      await page.addInitScript(spy);
      await page.goto("/dashboard/orders");
      const card = (of) => of.getByRole("article", { name: `Order ${order.orderId}` });
      const changes = (of) => card(of).getByRole("region", { name: /since the slip was printed$/ });
      const print = async (times) => {
        await page.emulateMedia({ media: "screen" });
        await card(page)
          .getByRole("button", { name: /^Print/ })
          .click();
        await page.waitForFunction((count) => globalThis.printed === count, times);
        await page.emulateMedia({ media: "print" });
      };
      const slip = page.getByTestId("slip");
      await print(1);
      await slip.getByText(nameOf("Stew")).waitFor();
      assert.equal(await slip.getByText("CHANGE", { exact: true }).count(), 0);
      await until("the slip is recorded", async () => (await current(order)).printedVersion === order.version);

      const counter = await context.newPage();
      await openForm(counter, order);
      await addOne(counter, "Soup");
      await counter.getByRole("button", { name: `Remove one ${nameOf("Stew")}` }).click();
      await counter.getByLabel("Table").fill("14");
      await counter.getByLabel("Note", { exact: true }).fill("Nut allergy");
      await until("the price is known", () => save(counter).isEnabled());
      await save(counter).click();
      await shown(counter, order);
      await counter.getByRole("region", { name: /since the slip was printed$/ }).waitFor();
      await counter.goto("/dashboard/orders");
      await changes(counter)
        .getByText(`Changed: 2× ${nameOf("Soup")} → 3× ${nameOf("Soup")}`)
        .waitFor();

      await page.emulateMedia({ media: "screen" });
      await changes(page)
        .getByText(`Removed: 1× ${nameOf("Stew")}`)
        .waitFor();
      await changes(page).getByRole("listitem").filter({ hasText: "Table: 14" }).waitFor();
      await changes(page).getByRole("listitem").filter({ hasText: "Note: Nut allergy" }).waitFor();
      await accessibleInThemes(page, "order-card-changed");
      await print(2);
      await slip.getByText("CHANGE", { exact: true }).waitFor();
      await slip.getByText(`Removed: 1× ${nameOf("Stew")}`).waitFor();
      await slip.getByRole("listitem").filter({ hasText: "Table: 14" }).waitFor();
      await slip.getByRole("listitem").filter({ hasText: "Note: Nut allergy" }).waitFor();
      await slip.getByText("The whole order now:").waitFor();
      await shoot(page, "order-slip-change");
      await page.emulateMedia({ media: "screen" });
      await changes(page).waitFor({ state: "detached" });
      await changes(counter).waitFor({ state: "detached" }); // another screen learns of the slip

      // A later time alone is news for the kitchen, too.
      await manager("PATCH", `/orders/${order.id}`, {
        requestedFor: new Date(Date.now() + 90 * 60_000).toISOString(),
      });
      await changes(page).getByRole("listitem").filter({ hasText: "Time: " }).waitFor();
      assert.equal(await changes(page).getByRole("listitem").count(), 1);
      await print(3);
      await slip.getByText("CHANGE", { exact: true }).waitFor();
      await page.emulateMedia({ media: "screen" });
      await changes(page).waitFor({ state: "detached" });
    });
    const { printedVersion, version } = await current(order);
    assert.equal(printedVersion, version);
    await complete(order);
  });

  it("shows the driver another guest and another address, but no note that was changed back", async () => {
    const address = { line1: "1 Road", city: "Berlin", country: "DE" };
    const order = await manager("POST", "/orders", {
      items: [{ productId: products.Soup.id, quantity: 1 }],
      ...{ fulfillmentType: "DELIVERY", customer: { name: "Hedy" }, deliveryAddress: address, note: "Ring twice" },
    });
    await manager("POST", `/orders/${order.id}/printed`, { version: order.version });
    const change = async (body) =>
      manager("PATCH", `/orders/${order.id}`, body, { "If-Match": `"${(await current(order)).version}"` });
    await change({ note: "Ring once" });
    await as(browser, userOf("STAFF"), async (page) => {
      await page.addInitScript(() => {
        globalThis.printed = 0;
        globalThis.print = () => globalThis.printed++;
      });
      await page.goto("/dashboard/orders");
      const card = page.getByRole("article", { name: `Order ${order.orderId}` });
      const changes = card.getByRole("region", { name: /since the slip was printed$/ }).getByRole("listitem");
      await changes.filter({ hasText: "Note: Ring once" }).waitFor();
      await change({
        ...{ note: "Ring twice", customer: { name: "Ida", phone: "+4930123456" } },
        deliveryAddress: { line1: "2 Lane", notes: "Backyard" },
      });
      await changes.filter({ hasText: "Guest: Ida, +4930123456" }).waitFor();
      await untilTexts(changes, ["Guest: Ida, +4930123456", "Address: 2 Lane, Berlin, GermanyBackyard"]);
      await accessibleInThemes(page, "order-card-delivery-changed");
      await page.getByRole("button", { name: `Print the kitchen slip of order ${order.orderId}` }).click();
      await page.waitForFunction(() => globalThis.printed === 1);
      await page.emulateMedia({ media: "print" });
      const slip = page.getByTestId("slip");
      await slip.getByText("CHANGE", { exact: true }).waitFor();
      await slip.getByRole("listitem").filter({ hasText: "Guest: Ida" }).waitFor();
      await slip.getByRole("listitem").filter({ hasText: "Address: 2 Lane, Berlin" }).waitFor();
      assert.equal(await slip.getByText("Note: ").count(), 0);
    });
    await complete(order);
  });

  it("by staff explains that only managers may lower the total", async () => {
    const admin = await client(userOf("ADMIN"));
    await admin("PATCH", "/settings", { lowerTotals: "MANAGER" });
    const order = await place("Rosa", "CONFIRMED");
    try {
      await as(browser, userOf("STAFF"), async (page) => {
        await openForm(page, order);
        await page.getByRole("button", { name: `Remove one ${nameOf("Soup")}` }).click();
        await page
          .getByRole("alert")
          .getByText(/In this store, only managers may lower it/)
          .waitFor();
        assert.ok(await save(page).isDisabled());
        await shoot(page, "order-change-role");
        await addOne(page, "Soup");
        await addOne(page, "Stew");
        await page.getByRole("alert").waitFor({ state: "detached" });
        await until("the price is known", () => save(page).isEnabled());
        await save(page).click();
        await shown(page, order);
      });
    } finally {
      await admin("PATCH", "/settings", { lowerTotals: "STAFF" });
    }
    await complete(order);
  });
});
