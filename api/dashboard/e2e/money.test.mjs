// What guests owe, tips, refunds and the cash-up, as the team at the till uses them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";

import {
  accessible,
  accessibleInThemes,
  as,
  client,
  launch,
  menu,
  narrow,
  settled,
  shoot,
  until,
  userOf,
  visit,
} from "./world.mjs";

let browser, api, product;
before(async () => {
  browser = await launch();
  api = await client(userOf("MANAGER"));
  product = await api("POST", "/products", { name: `Money ${process.pid}`, priceMinor: 1500, currency: "EUR" });
});
after(async () => {
  await browser.close();
  const admin = await client(userOf("ADMIN"));
  await admin("DELETE", `/products/${product.id}`);
});

const provider = `TILL-${process.pid}`;
let transactions = 0;

const placed = () =>
  api("POST", "/orders", {
    items: [{ productId: product.id, quantity: 1 }],
    fulfillmentType: "PICKUP",
    customer: { name: `Payer ${process.pid}` },
  });

const paid = (order, amountMinor, more = {}) =>
  api("POST", `/orders/${order.id}/payments`, {
    provider,
    transactionId: `${provider}-${transactions++}`,
    status: "SUCCEEDED",
    amountMinor,
    currency: "EUR",
    paymentMethod: "card",
    ...more,
  });

/** The amount of a line of the order page, under its total. */
const owed = (page, label) =>
  page.getByLabel("Payments and refunds", { exact: true }).locator("div", { hasText: label }).locator("dd");

describe("an order", () => {
  it("shows what to collect and to return, and proposes the refund", async () => {
    const order = await placed();
    await paid(order, 500);
    await as(browser, userOf("MANAGER"), async (page) => {
      const card = page.locator(`[data-order="${order.id}"]`);
      await page.goto("/dashboard/orders");
      await card.getByText("Collect €10.00").waitFor();
      await page.goto(`/dashboard/orders/${order.id}`);
      await page.getByRole("button", { name: "Record payment" }).click();
      const record = page.getByRole("dialog");
      await until("the outstanding amount is proposed", async () =>
        /^10[.,]00$/.test(await record.getByLabel("Amount in EUR").inputValue()),
      );
      await record.getByLabel("Amount in EUR").fill("15");
      await record.getByText("€5.00 more than is outstanding.").waitFor();
      await record.getByLabel("Of which tip in EUR").fill("16");
      await record.getByText("The tip exceeds the amount").waitFor();
      await record.getByLabel("Of which tip in EUR").fill("2");
      await record.getByText("€3.00 more than is outstanding.").waitFor();
      await shoot(page, "money-record");
      await record.getByLabel("Provider").fill(provider);
      await record.getByRole("button", { name: "Record", exact: true }).click();
      await page.getByText("with €2.00 tip").waitFor();
      await until("3 EUR are to be returned", async () => (await owed(page, "To return").innerText()) === "€3.00");
      await accessible(page, "order to refund");
      await settled(page);
      await shoot(page, "money-order");
      await page.goto("/dashboard/orders");
      await card.getByText("Return €3.00").waitFor();
      await shoot(page, "money-board");
      await page.goto(`/dashboard/orders/${order.id}`);
      const payment = page.getByRole("listitem").filter({ hasText: "with €2.00 tip" });
      await payment.getByRole("button", { name: "Refund", exact: true }).click();
      const refund = page.getByRole("dialog");
      await until("the refundable amount is proposed", async () =>
        /^3[.,]00$/.test(await refund.getByLabel("Amount in EUR").inputValue()),
      );
      assert.equal(await refund.getByLabel("Of which tip in EUR").inputValue(), "");
      await refund.getByLabel("Of which tip in EUR").fill("2.01");
      await refund.getByText("The tip exceeds the amount or the rest").waitFor();
      await refund.getByLabel("Of which tip in EUR").fill("");
      await refund.getByLabel("Reason").fill("Paid too much");
      await shoot(page, "money-refund");
      await refund.getByRole("button", { name: "Record refund" }).click();
      await owed(page, "To return").waitFor({ state: "detached" });
      await page.getByText("Paid", { exact: true }).waitFor();
    });
  });

  it("returns everything with the tip when it is cancelled, and nothing before", async () => {
    const order = await placed();
    await paid(order, 1800, { tipMinor: 300 });
    await as(browser, userOf("MANAGER"), async (page) => {
      await page.goto(`/dashboard/orders/${order.id}`);
      const open = async () => {
        await page.getByRole("button", { name: "Refund", exact: true }).click();
        return page.getByRole("dialog");
      };
      const early = await open();
      await early.getByText("The order itself leaves nothing to return.").waitFor();
      assert.equal(await early.getByLabel("Amount in EUR").inputValue(), "");
      await early.getByRole("button", { name: "Cancel" }).click();
      await api("PATCH", `/orders/${order.id}/status`, { status: "CANCELLED", cancellationReason: "No cook" });
      await until("15 EUR are to be returned", async () => {
        const line = owed(page, "To return");
        return (await line.count()) === 1 && (await line.innerText()) === "€15.00";
      });
      const refund = await open();
      assert.match(await refund.getByLabel("Amount in EUR").inputValue(), /^18[.,]00$/);
      assert.match(await refund.getByLabel("Of which tip in EUR").inputValue(), /^3[.,]00$/);
      await refund.getByLabel("Reason").fill("Cancelled");
      await refund.getByRole("button", { name: "Record refund" }).click();
      await page.getByText("Refunded", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Refund", exact: true }).waitFor({ state: "detached" });
    });
  });
});

describe("the cash-up", () => {
  it("sums payments, tips and refunds, and is printed and saved", async () => {
    const order = await placed();
    const method = `terminal ${process.pid}`;
    const payment = await paid(order, 1700, { tipMinor: 200, paymentMethod: method });
    await api("POST", `/payments/${payment.id}/refunds`, {
      amountMinor: 450,
      tipMinor: 50,
      reason: "cold",
      providerRefundId: provider,
    });
    await as(browser, userOf("MANAGER"), async (page) => {
      await visit(page, "Cash-up");
      const row = page.getByRole("row").filter({ hasText: method });
      const cells = async () => (await row.locator("td").allInnerTexts()).map((text) => text.replace(/\s+/g, " "));
      await row.waitFor();
      assert.deepEqual(await cells(), [`${provider} · ${method}`, "1", "€15.00", "€1.50", "1", "-€4.00", "€12.50"]);
      await accessibleInThemes(page, "cash-up");
      const [saved] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Export CSV" }).click(),
      ]);
      assert.match(saved.suggestedFilename(), /^cash-up-\d{4}-\d\d-\d\d-\d{4}-\d\d-\d\d\.csv$/);
      const lines = readFileSync(await saved.path(), "utf8").split("\r\n");
      const line = lines.find((text) => text.includes(method));
      assert.match(line, new RegExp(`^\\d{4}-\\d\\d-\\d\\d,${provider},${method},,EUR,1,15,1\\.5,1,4$`));
      await page.emulateMedia({ media: "print" });
      assert.equal(await menu(page).isVisible(), false);
      assert.equal(await page.getByRole("button", { name: "Print" }).isVisible(), false);
      assert.equal(await row.isVisible(), true);
      await shoot(page, "cash-up-print");
      await page.emulateMedia({ media: null });
      const printed = await page.evaluate(() => {
        let calls = 0;
        globalThis.print = () => calls++;
        document.querySelectorAll("button").forEach((one) => one.textContent.trim() === "Print" && one.click());
        return calls;
      });
      assert.equal(printed, 1);
      await page.setViewportSize({ width: 360, height: 740 });
      await narrow(page, "cash-up");
      await shoot(page, "cash-up-phone");
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.getByLabel("Last day").fill("2020-01-01");
      await page.getByText("The last day is before the first day.").waitFor();
      await page.getByLabel("First day").fill("2020-01-01");
      await page.getByText("No payments in this period").waitFor();
    });
    await as(browser, userOf("STAFF"), async (page) => {
      assert.equal(await menu(page).getByRole("link", { name: "Cash-up" }).count(), 0);
    });
  });
});
