import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";

import { as, client, launch, narrow, settled, until, userOf } from "./world.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

describe("analytics", () => {
  // A spreadsheet would run this name as a formula.
  const name = `=Quiche ${process.pid}`;
  let api, product;

  before(async () => {
    api = await client(userOf("ADMIN"));
    product = await api("POST", "/products", { name, priceMinor: 650, currency: "EUR" });
    const order = await api("POST", "/orders", {
      items: [{ productId: product.id, quantity: 7 }],
      fulfillmentType: "PICKUP",
      customer: { name: "Hypatia" },
    });
    await api("PATCH", `/orders/${order.id}/status`, { status: "COMPLETED" });
  });
  after(() => api("DELETE", `/products/${product.id}`));

  /** Opens the analytics of the last seven days and waits for the plots. */
  const open = async (page) => {
    await page.goto("/dashboard/analytics?range=7d&by=day&currency=EUR");
    await page.locator("figure", { hasText: "Net sales, EUR" }).locator("svg text").first().waitFor();
    await page.getByRole("region", { name: "Products sold" }).waitFor();
    const own = page.getByRole("region", { name: "Sales by channel" }).getByRole("row", { name: /^Own orders/ });
    await own.first().waitFor();
    await settled(page);
  };

  /** Returns the rows of the file that a button saves. */
  const rowsOf = async (page, button) => {
    const [saved] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: `Export ${button} as CSV` }).click(),
    ]);
    const text = readFileSync(await saved.path(), "utf8").replace("\uFEFF", "");
    return [saved.suggestedFilename(), ...text.trim().split(/\r?\n/)];
  };

  it("are saved as CSV, without formulas", async () => {
    await as(browser, userOf("ADMIN"), async (page) => {
      await open(page);
      const [products, titles, ...sold] = await rowsOf(page, "products-sold");
      assert.match(products, /^products-sold-\d{4}-\d\d-\d\d-\d{4}-\d\d-\d\d\.csv$/);
      assert.equal(titles, "productId,product,currency,quantity,net");
      assert.deepEqual(
        sold.filter((row) => row.startsWith(product.id)),
        [`${product.id},'${name},EUR,7,45.5`],
      );
      const [sales, head, ...days] = await rowsOf(page, "sales-by-day");
      assert.match(sales, /^sales-by-day-/);
      assert.match(head, /^period,currency,orders,cancelled,items,gross,discount,net,/);
      const items = days.filter((day) => day.split(",")[1] === "EUR").map((day) => Number(day.split(",")[4]));
      const total = page.getByRole("region", { name: "Sales over time, EUR" }).locator("tfoot [data-column=itemsSold]");
      assert.equal(
        items.reduce((a, b) => a + b, 0),
        Number((await total.innerText()).replace(/\D/g, "")),
      );
    });
  });

  it("have labels within their plots", async () => {
    await as(browser, userOf("ADMIN"), async (page) => {
      await open(page);
      for (const width of [1280, 360]) {
        await page.setViewportSize({ width, height: 900 });
        for (const title of ["Net sales, EUR", "Orders"]) {
          const plot = page.locator("figure", { has: page.locator("figcaption", { hasText: title }) });
          // The plots follow the window after a moment.
          await until(`the labels of ${title} are inside of the plot at ${width} pixels`, () =>
            plot.evaluate((figure) => {
              const frame = figure.getBoundingClientRect();
              const labels = [...figure.querySelectorAll("svg text")];
              return (
                frame.right <= innerWidth &&
                labels.length >= 4 &&
                labels.every((label) => {
                  const box = label.getBoundingClientRect();
                  return label.textContent !== "" && box.left >= frame.left - 1 && box.right <= frame.right + 1;
                })
              );
            }),
          );
        }
        await narrow(page, "Analytics");
      }
    });
  });
});
