import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import {
  accessibleInThemes,
  american,
  as,
  client,
  heading,
  launch,
  shoot,
  until,
  untilTexts,
  userOf,
  visit,
} from "./world.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

/** Returns the day (YYYY-MM-DD) that is `days` days from now. */
const dayIn = (days) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

describe("an order", () => {
  it("moves from placed to refunded, and two users see each other's changes", async () => {
    await as(browser, userOf("STAFF"), async (kitchen) => {
      await visit(kitchen, "Orders");
      await kitchen.getByText("Live updates").waitFor();
      await as(browser, userOf("MANAGER"), async (counter) => {
        await visit(counter, "Orders");
        await counter.getByRole("link", { name: "New order" }).first().click();
        await heading(counter, "New order").waitFor();
        const pizza = counter.getByRole("button", { name: /^Pizza Margherita/ });
        await pizza.click();
        await pizza.click();
        await counter.getByLabel("Name", { exact: true }).fill("Grace Hopper");
        await counter.getByLabel("Phone").fill("+49 151 2345678");
        await counter.getByLabel("Note").fill("No onions");
        await counter.getByRole("button", { name: "Place order" }).click();
        const title = counter.getByRole("heading", { level: 1, name: /^Order \d+ Received/ });
        const number = (await title.innerText()).match(/\d+/)[0];

        const slip = kitchen.getByRole("article", { name: `Order ${number}` });
        await slip.getByText("No onions").waitFor();
        await slip.getByText("2×").waitFor();
        await slip.getByRole("button", { name: `Confirm order ${number}` }).click();
        await counter.getByRole("heading", { level: 1, name: `Order ${number} Confirmed` }).waitFor();
        await slip.getByRole("link", { name: `#${number}` }).click();
        await kitchen.getByRole("button", { name: "Skip to…" }).click();
        await kitchen.getByRole("menuitem", { name: "Mark ready" }).click();
        await kitchen.getByRole("heading", { level: 1, name: `Order ${number} Ready` }).waitFor();
        assert.equal(await kitchen.getByRole("button", { name: "Cancel" }).count(), 0);
        await kitchen.getByRole("button", { name: `Complete order ${number}` }).click();
        await kitchen.getByRole("button", { name: "Complete without payment" }).click();

        await counter.getByRole("heading", { level: 1, name: `Order ${number} Completed` }).waitFor();
        await counter.getByRole("button", { name: "Record payment" }).click();
        await counter.getByRole("dialog").getByRole("button", { name: "Record", exact: true }).click();
        await counter.getByText("Paid", { exact: true }).waitFor();
        await counter.getByRole("button", { name: "Refund", exact: true }).click();
        const refund = counter.getByRole("dialog");
        await refund.getByLabel("Amount in EUR").fill("100");
        await refund.getByText("The amount exceeds the refundable amount").waitFor();
        await refund.getByLabel("Amount in EUR").fill("5");
        await refund.getByLabel("Reason").fill("It was cold");
        await refund.getByRole("button", { name: "Record refund" }).click();
        await counter.getByText("Partly refunded").waitFor();
        await kitchen.getByText("It was cold").waitFor();
        assert.equal(await kitchen.getByRole("button", { name: "Refund", exact: true }).count(), 0);
      });
    });
  });

  it("is cancelled with a reason and found in the list", async () => {
    const api = await client(userOf("MANAGER"));
    const [product] = await api("GET", "/products?limit=1");
    const order = await api("POST", "/orders", {
      items: [{ productId: product.id, quantity: 1 }],
      fulfillmentType: "PICKUP",
      customer: { name: "Joan Clarke" },
    });
    await as(browser, userOf("MANAGER"), async (page) => {
      await visit(page, "Orders");
      await page.getByRole("link", { name: `#${order.orderId}`, exact: true }).click();
      await page.getByRole("button", { name: "Cancel" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Reason").fill("The kitchen is closed");
      await dialog.getByRole("button", { name: "Cancel order" }).click();
      await page.getByRole("heading", { level: 1, name: `Order ${order.orderId} Cancelled` }).waitFor();
      await page.getByText("The kitchen is closed").first().waitFor();
      await visit(page, "Orders");
      await page.getByRole("radio", { name: "All orders" }).click();
      await page.getByLabel("Status").selectOption({ label: "Cancelled" });
      await page.getByLabel("Number, name, email or phone").fill("joan");
      await page.waitForURL(/q=joan/);
      const row = page.getByRole("row", { name: `#${order.orderId}` });
      await row.getByText("Joan Clarke").waitFor();
    });
  });
});

describe("reservations", () => {
  const lines = (page) => page.getByRole("list", { name: "Reservations" }).getByRole("listitem");

  it("are added, confirmed and cancelled, and refused without free seats", async () => {
    await as(browser, userOf("STAFF"), async (page) => {
      await visit(page, "Reservations");
      await page.getByLabel("Day", { exact: true }).fill(dayIn(20));
      await page.getByText("No reservations for this day").waitFor();
      await reserve(page, { Time: "19:00", Guests: "400", Name: "Everybody" }, false);
      await page.getByRole("dialog").getByText("Not enough seats are free at that time").waitFor();
      const free = page.getByRole("dialog").getByRole("group", { name: "Free times" });
      await free.getByText("No free times on this day for these guests.").waitFor();
      await page.getByRole("dialog").getByLabel("Guests").fill("3");
      await free.getByRole("button", { name: "19:00", pressed: true }).waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "Add" }).click();
      const line = lines(page).filter({ hasText: "Everybody" });
      await line.getByText("Pending").waitFor();
      await line.getByRole("button", { name: "Confirm: Everybody" }).click();
      await line.getByText("Confirmed").waitFor();
      // The buttons of past steps disappear; the focus stays with the reservation.
      const focused = () => line.evaluate((one) => one === document.activeElement);
      await until("the focus is on the confirmed reservation", focused);
      await page.getByText(/From 0?7:00\sPM: 3 seats taken/).waitFor({ state: "attached" });
      await line.getByRole("button", { name: "Cancel: Everybody" }).click();
      await page.getByRole("dialog").getByLabel("Reason").fill("They are ill");
      await page.getByRole("dialog").getByRole("button", { name: "Cancel reservation" }).click();
      await line.getByText("They are ill").waitFor();
      await page.getByText("No seats are taken.").waitFor();
      await until("the focus is on the cancelled reservation", focused);
    });
  });

  it("offer the free times closest to the wanted one", async (test) => {
    const day = dayIn(45); // a day without reservations of other scripts
    const admin = await client(userOf("ADMIN"));
    const { seats, openingHours } = await admin("GET", "/settings");
    test.after(() => admin("PATCH", "/settings", { openingHours: { DINE_IN: openingHours.DINE_IN ?? null } }));
    const evening = [{ from: "18:00", to: "23:00" }];
    const week = Object.fromEntries(["mon", "tue", "wed", "thu", "fri", "sat", "sun"].map((one) => [one, evening]));
    await admin("PATCH", "/settings", { openingHours: { DINE_IN: week } });
    await as(browser, userOf("STAFF"), async (page) => {
      await page.goto(`/dashboard/reservations?day=${day}`);
      await reserve(page, { Time: "19:00", "Duration in minutes": "60", Guests: String(seats), Name: "Everybody" });
      await page.getByRole("button", { name: "Add reservation" }).first().click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Duration in minutes").fill("60");
      const free = dialog.getByRole("group", { name: "Free times" });
      await free.getByText("19:00 is not a free time. The closest ones:").waitFor();
      await untilTexts(free.getByRole("button"), [
        "18:00",
        "20:00",
        "20:15",
        "20:30",
        "20:45",
        "21:00",
        "21:15",
        "21:30",
      ]);
      await accessibleInThemes(page, "reservation-free-times");
      await free.getByRole("button", { name: "20:15" }).click();
      assert.equal(await dialog.getByLabel("Time", { exact: true }).inputValue(), "20:15");
      await shoot(page, "reservation-free-times");
      await dialog.getByLabel("Name", { exact: true }).fill("Late guests");
      await dialog.getByRole("button", { name: "Add" }).click();
      await lines(page).filter({ hasText: "Late guests" }).getByText(american("20:15 – 21:15")).waitFor();
      // A reservation that is changed does not compete with itself.
      await page.getByRole("button", { name: "Edit: Everybody" }).click();
      await free.getByRole("button", { name: "19:00", pressed: true }).waitFor();
      await free.getByRole("button", { name: "19:15" }).click();
      await dialog.getByRole("button", { name: "Save" }).click();
      await lines(page).filter({ hasText: "Everybody" }).getByText(american("19:15 – 20:15")).waitFor();
    });
  });

  it("seat walk-ins with one tap, who can leave", async () => {
    await as(browser, userOf("STAFF"), async (page) => {
      await visit(page, "Reservations");
      await page.getByRole("button", { name: "Walk-in, 3 guests" }).click();
      await page.getByText("3 guests seated").first().waitFor();
      const line = lines(page).filter({ hasText: "Walk-in" });
      await line.getByText("Confirmed").waitFor();
      await line.getByText("3 seats").waitFor();
      await shoot(page, "reservation-walk-in");
      await line.getByRole("button", { name: "Mark completed: Walk-in" }).click();
      await line.getByText("Completed").waitFor();
      await page.getByRole("button", { name: "Next day" }).click();
      await page.getByRole("button", { name: "Walk-in, 3 guests" }).waitFor({ state: "detached" });
    });
  });

  it("occupy seats across midnight", async () => {
    await as(browser, userOf("STAFF"), async (page) => {
      const line = (text) => lines(page).filter({ hasText: text });
      const seats = (text) => page.getByText(text, { exact: true }).waitFor({ state: "attached" });
      await page.goto(`/dashboard/reservations?day=${dayIn(30)}`);
      await reserve(page, { Time: "23:00", "Duration in minutes": "180", Guests: "4", Name: "Night owls" });
      await line("Night owls")
        .getByText(/11:00\sPM – 0?2:00\sAM/)
        .waitFor();
      await seats(/From 11:00\sPM: 4 seats taken/);
      await page.getByRole("button", { name: "Next day" }).click();
      await page.waitForURL(new RegExp(dayIn(31)));
      await reserve(page, { Time: "01:00", "Duration in minutes": "120", Guests: "2", Name: "Early birds" });
      await line("Early birds").getByText(american("01:00 – 03:00")).waitFor();
      await seats(/From 12:00\sAM: 4 seats taken/);
      await seats(/From 0?1:00\sAM: 6 seats taken/);
      await seats(/From 0?2:00\sAM: 2 seats taken/);
      await page.getByRole("button", { name: "Previous day" }).click();
      await line("Night owls").waitFor();
      assert.equal(await line("Early birds").count(), 0);
    });
  });

  async function reserve(page, fields, fits = true) {
    await page.getByRole("button", { name: "Add reservation" }).first().click();
    const dialog = page.getByRole("dialog");
    for (const [label, value] of Object.entries(fields)) await dialog.getByLabel(label, { exact: true }).fill(value);
    await dialog.getByRole("button", { name: "Add" }).click();
    if (fits) await dialog.waitFor({ state: "detached" });
  }
});

describe("products", () => {
  it("are added, filtered, edited and deleted", async () => {
    const row = (page) => page.getByRole("row", { name: /^Gnocchi/ });
    await as(browser, userOf("MANAGER"), async (page) => {
      await visit(page, "Products");
      await page.getByRole("button", { name: "Add product" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Name", { exact: true }).fill("Gnocchi");
      await dialog.getByLabel("Category").fill("Pasta");
      await dialog.getByLabel("EUR", { exact: true }).fill("twelve");
      await dialog.getByRole("button", { name: "Add", exact: true }).click();
      await dialog.getByText("Enter an amount, such as 12.50").waitFor();
      await dialog.getByLabel("EUR", { exact: true }).fill("12.50");
      await dialog.getByRole("button", { name: "Add", exact: true }).click();
      await row(page).getByText("12.50").waitFor();

      await page.getByLabel("Category").selectOption("Pasta");
      await page.waitForURL(/category=Pasta/);
      await page.getByText("Pizza Margherita", { exact: true }).waitFor({ state: "detached" });
      await row(page).waitFor();
      const categories = await page.locator("tbody td:nth-child(2)").allInnerTexts();
      assert.ok(categories.length >= 3 && categories.every((category) => category === "Pasta"), String(categories));
      await page.getByLabel("Name or SKU").fill("gnoc");
      await page.getByText("Penne Arrabbiata", { exact: true }).waitFor({ state: "detached" });
      await row(page).waitFor();
      assert.equal(await page.locator("tbody tr").count(), 1);

      await row(page).getByRole("button", { name: "Edit Gnocchi" }).click();
      await dialog.getByLabel("In stock").fill("0");
      await dialog.getByRole("button", { name: "Save" }).click();
      await row(page).getByRole("button", { name: "Availability of Gnocchi: Out of stock" }).click();
      await page.getByRole("menuitem", { name: "Unavailable until further notice" }).click();
      await page.getByText("Gnocchi is unavailable").first().waitFor();
      assert.equal(await page.getByRole("button", { name: "Delete Gnocchi" }).count(), 0);
    });
    await as(browser, userOf("ADMIN"), async (page) => {
      await page.goto("/dashboard/products?q=gnocchi&available=no");
      await row(page).getByRole("button", { name: "Delete Gnocchi" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await page.getByText("No products match these filters").waitFor();
    });
    await as(browser, userOf("STAFF"), async (page) => {
      await visit(page, "Products");
      await page.getByText("Pizza Margherita", { exact: true }).waitFor();
      assert.equal(await page.getByRole("button", { name: /^(Add|Edit|Availability|Stock)/ }).count(), 0);
    });
  });
});

describe("customers", () => {
  it("are found, edited and shown with their orders", async () => {
    const api = await client(userOf("MANAGER"));
    const [product] = await api("GET", "/products?limit=1");
    const order = await api("POST", "/orders", {
      items: [{ productId: product.id, quantity: 2 }],
      fulfillmentType: "PICKUP",
      customer: { name: "Katherine Goble", email: "goble@example.com" },
    });
    await as(browser, userOf("MANAGER"), async (page) => {
      await visit(page, "Customers");
      await page.getByLabel("Name, email or phone").fill("goble");
      await page.waitForURL(/q=goble/);
      await page.getByRole("link", { name: "Katherine Goble" }).click();
      await page.getByRole("button", { name: "Edit" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Phone").fill("12");
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.getByText("must be a phone number").first().waitFor();
      await dialog.getByLabel("Phone").fill("+49 (151) 234-5679");
      await dialog.getByRole("button", { name: "Save" }).click();
      await page.getByText("+491512345679").waitFor();
      await page.getByRole("link", { name: `#${order.orderId}`, exact: true }).click();
      await page.getByRole("heading", { level: 1, name: `Order ${order.orderId}` }).waitFor();
    });
  });
});
