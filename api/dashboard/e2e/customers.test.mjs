import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";

import { accessible, as, client, launch, narrow, shoot, userOf, visit, world } from "./world.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

const [{ storeId }] = world.stores;

/** Sends a request of a customer and returns its status. */
async function customer(path, body) {
  const response = await fetch(`${world.api}/customer-auth/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ storeId, ...body }),
  });
  return response.status;
}

describe("a customer", () => {
  it("redeems points, which have the worth of the settings", async () => {
    const email = `grete-${process.pid}@example.com`;
    assert.equal(
      await customer("register", { email, password: "grete's own phrase", firstName: "Grete", lastName: "Hermann" }),
      201,
    );
    const [manager, admin] = [await client(userOf("MANAGER")), await client(userOf("ADMIN"))];
    const [{ id: customerId }] = await manager("GET", `/customers?q=${email}`);
    const dish = await manager("POST", "/products", {
      name: `Feast ${process.pid}`,
      priceMinor: 20000,
      currency: "EUR",
    });
    const items = [{ productId: dish.id, quantity: 1 }];
    const earned = await manager("POST", "/orders", { items, customerId, fulfillmentType: "PICKUP" });
    await manager("PATCH", `/orders/${earned.id}/status`, { status: "COMPLETED" });
    const { loyalty } = await admin("GET", "/settings");
    try {
      await as(browser, userOf("ADMIN"), async (page) => {
        await visit(page, "Settings");
        const save = () => page.getByRole("button", { name: "Save" }).click();
        await page.getByLabel("Worth of a point in EUR").fill("0");
        await save();
        await page.getByText("must be an amount above 0").waitFor();
        await page.getByLabel("Worth of a point in EUR").fill("0.02");
        await page.getByLabel("Least number of points for one order").fill("100");
        await save();
        await page.getByText("Settings saved").first().waitFor();
      });
      await as(browser, userOf("MANAGER"), async (page) => {
        await page.goto("/dashboard/orders/new");
        await page.getByLabel("Search the menu").fill(dish.name);
        await page.getByRole("button", { name: new RegExp(`^${dish.name}`) }).click();
        assert.equal(await page.getByLabel("Loyalty points to redeem").count(), 0); // guests have none
        await page.getByLabel("Find a customer").fill(email);
        await page.getByRole("button", { name: /^Grete/ }).click();
        const points = page.getByLabel("Loyalty points to redeem");
        await points.fill("99");
        await page.getByText("must be at least 100").first().waitFor();
        await points.fill("150");
        await page.getByRole("definition").filter({ hasText: "197.00" }).first().waitFor();
        await accessible(page, "Loyalty points of a new order");
        await shoot(page, "order-new-points");
        await page.getByRole("button", { name: "Place order" }).click();
        await page.getByRole("heading", { level: 1, name: /^Order \d+ Received/ }).waitFor();
        await page.getByText("150 points").waitFor();
      });
    } finally {
      await admin("PATCH", "/settings", { loyalty: { ...loyalty, minorPerPoint: { EUR: null } } });
      await admin("DELETE", `/products/${dish.id}`);
    }
    const [order] = await manager("GET", `/orders?customerId=${customerId}`);
    assert.deepEqual([order.loyaltyPoints, order.loyaltyMinor, order.totalMinor], [150, 300, 19700]);
    assert.equal((await manager("GET", `/customers/${customerId}`)).loyaltyPoints, 50);
    await manager("PATCH", `/orders/${order.id}/status`, { status: "COMPLETED" });
  });

  it("is disabled and enabled again", async () => {
    const login = { email: `katherine-${process.pid}@example.com`, password: "katherine's own phrase" };
    assert.equal(await customer("register", { ...login, firstName: "Katherine", lastName: "Johnson" }), 201);
    await as(browser, userOf("MANAGER"), async (page) => {
      await visit(page, "Customers");
      await page
        .getByRole("row", { name: new RegExp(login.email) })
        .getByRole("link")
        .click();
      const title = page.getByRole("heading", { level: 1 });
      const dialog = page.getByRole("dialog");
      await page.getByRole("button", { name: "Disable" }).click();
      await accessible(page, "Disable customer");
      await shoot(page, "customer-disable");
      await dialog.getByRole("button", { name: "Keep enabled" }).click();
      assert.equal(await customer("login", login), 200);
      await page.getByRole("button", { name: "Disable" }).click();
      await dialog.getByRole("button", { name: "Disable customer" }).click();
      await title.getByText("disabled").waitFor();
      assert.equal(await customer("login", login), 401);
      await visit(page, "Customers");
      await page
        .getByRole("row", { name: new RegExp(login.email) })
        .getByText("disabled")
        .waitFor();
      await page
        .getByRole("row", { name: new RegExp(login.email) })
        .getByRole("link")
        .click();
      await page.getByRole("button", { name: "Enable" }).click();
      await dialog.getByRole("button", { name: "Enable customer" }).click();
      await page.getByText("Katherine Johnson enabled").first().waitFor();
      await title.getByText("disabled").waitFor({ state: "detached" });
      assert.equal(await customer("login", login), 200);
    });
  });

  it("is exported, and erased when nothing is open", async () => {
    const api = await client(userOf("ADMIN"));
    const name = `Mileva ${process.pid}`;
    const product = await api("POST", "/products", { name: `${name}'s soup`, priceMinor: 500, currency: "EUR" });
    const guest = { name, email: `mileva-${process.pid}@example.com`, phone: "+491512345678" };
    const order = await api("POST", "/orders", {
      items: [{ productId: product.id, quantity: 1 }],
      fulfillmentType: "PICKUP",
      customer: guest,
    });
    const { id } = order.customer;
    const startAt = new Date(Date.now() + 9 * 86_400_000).toISOString();
    const booked = await api("POST", "/reservations", { customerId: id, partySize: 2, startAt });
    await as(browser, userOf("MANAGER"), async (page) => {
      await page.goto(`/dashboard/customers/${id}`);
      await page.getByRole("button", { name: "Edit" }).click();
      assert.equal(await page.getByRole("button", { name: "Erase" }).count(), 0);
      await page.getByLabel("Phone").fill("0151 2345679");
      await page.getByText("Stored as +491512345679.").waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
      await page.getByText("+491512345679").first().waitFor();
    });
    await as(browser, userOf("ADMIN"), async (page) => {
      await page.goto(`/dashboard/customers/${id}`);
      const started = page.waitForEvent("download");
      await page.getByRole("button", { name: "Export" }).click();
      const file = await started;
      assert.equal(file.suggestedFilename(), `customer-${id}.json`);
      const exported = JSON.parse(await readFile(await file.path(), "utf8"));
      assert.equal(exported.customer.email, guest.email);
      assert.deepEqual(
        exported.orders.map((one) => one.id),
        [order.id],
      );

      await page.getByRole("button", { name: "Erase" }).click();
      const dialog = page.getByRole("dialog");
      const erase = dialog.getByRole("button", { name: "Erase personal data" });
      const confirmation = dialog.getByLabel(`Enter “${name}” to confirm`);
      await confirmation.fill("Mileva");
      assert.ok(await erase.isDisabled());
      await confirmation.fill(name);
      await erase.click();
      await dialog.getByRole("link", { name: `Order ${order.orderId}` }).waitFor();
      await dialog.getByRole("link", { name: /^Reservation on/ }).waitFor();
      await accessible(page, "Erase customer");
      await shoot(page, "customer-erase");
      await page.setViewportSize({ width: 360, height: 740 });
      await narrow(page, "Erase customer");
      await shoot(page, "customer-erase-phone");
      await page.setViewportSize({ width: 1280, height: 720 });
      await api("PATCH", `/orders/${order.id}/status`, { status: "COMPLETED" });
      await api("PATCH", `/reservations/${booked.id}/status`, { status: "CANCELLED" });
      await erase.click();
      await page.getByText(`The data of ${name} is erased`).first().waitFor();
      await page.getByRole("heading", { level: 1, name: "Customers", exact: true }).waitFor();
      await page.getByLabel("Name, email or phone").fill(name);
      await page.getByText("No customers match these filters").waitFor();
      await page.goto(`/dashboard/customers/${id}`);
      await page.getByRole("heading", { level: 1, name: "Erased customer", exact: true }).waitFor();
      await page.getByText("The personal data of this customer was erased.").waitFor();
      for (const name of ["Edit", "Export", "Erase"])
        assert.equal(await page.getByRole("button", { name, exact: true }).count(), 0, name);
      await accessible(page, "an erased customer");
      await page.getByRole("link", { name: `#${order.orderId}` }).click();
      await page.getByRole("link", { name: "Erased customer" }).waitFor();
    });
    const erased = await api("GET", `/customers/${id}`);
    assert.deepEqual([erased.firstName, erased.email ?? "", erased.phone ?? ""], ["", "", ""]);
    assert.equal((await api("GET", `/orders/${order.id}`)).totalMinor, 500);
    await api("DELETE", `/products/${product.id}`);
  });
});

describe("social login", () => {
  it("changes the client ids of the website", async () => {
    await as(browser, userOf("ADMIN"), async (page) => {
      await visit(page, "Social login");
      await page.getByText("Only an owner of this store can change the client ids.").waitFor();
      assert.equal(await page.getByRole("button", { name: "Save" }).count(), 0);
    });
    await as(browser, userOf("OWNER"), async (page) => {
      await visit(page, "Social login");
      const google = page.getByLabel("Google client ids");
      const before = await google.inputValue();
      await google.fill(`${before}\nweb.trattoria.example`);
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("Social login saved").first().waitFor();
      await page.reload();
      assert.deepEqual((await google.inputValue()).split("\n").sort(), [before, "web.trattoria.example"].sort());
      await google.fill(`${before}\nü`);
      await page.getByRole("button", { name: "Save" }).click();
      await page.locator("[name=google][aria-invalid]").waitFor();
      await google.fill(before);
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("Social login saved").first().waitFor();
      await page.setViewportSize({ width: 360, height: 740 });
      await narrow(page, "Social login");
    });
  });
});
