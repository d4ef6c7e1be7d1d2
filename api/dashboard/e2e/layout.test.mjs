import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { as, client, heading, launch, narrow, userOf, visit, world } from "./world.mjs";

const [, { storeId }] = world.stores; // its pages have no screenshots
const owner = { ...userOf("OWNER"), storeIds: [storeId] };

let browser, api;
before(async () => {
  browser = await launch();
  api = await client(owner);
});
after(() => browser.close());

const email = (name) => `${name}.${"of-a-long-name.".repeat(3)}${process.pid}@restaurants.example.com`;

/** Returns the bounding boxes of all elements of a locator, after the first one is there. */
async function boxes(locator) {
  await locator.first().waitFor();
  return Promise.all((await locator.all()).map((one) => one.boundingBox()));
}

/** Opens a page of a section in a window of a width and returns a region of the page. */
async function open(page, width, path, title, region) {
  await page.setViewportSize({ width, height: 1000 }); // after the login, which waits for the menu
  await page.goto(`/dashboard${path}`);
  await heading(page, title).waitFor();
  return page.getByRole("region", { name: region, exact: true });
}

describe("the layout", () => {
  for (const [hasTouch, height] of [
    [false, 36],
    [true, 44],
  ]) {
    it(`has choices and items of menus as high as buttons ${hasTouch ? "with" : "without"} touch`, () =>
      as(
        browser,
        owner,
        async (page) => {
          await visit(page, "Orders");
          const choice = await boxes(page.getByLabel("View", { exact: true }));
          const button = await boxes(page.getByRole("link", { name: "New order" }));
          await page.getByRole("button", { name: /^Store: / }).click();
          const items = await boxes(page.getByRole("menuitem"));
          for (const box of [...choice, ...button, ...items]) assert.equal(Math.round(box.height), height);
        },
        { hasTouch },
      ));
  }

  it("keeps the hours of the day plan apart on a tablet", async () => {
    const day = new Date(Date.now() + 40 * 86_400_000).toISOString().slice(0, 10);
    await api("POST", "/reservations", { customer: { name: "Ada" }, partySize: 2, startAt: `${day}T17:00:00Z` });
    await as(browser, owner, async (page) => {
      const plan = await open(page, 820, `/reservations?day=${day}`, "Reservations", "Day plan");
      const hours = await boxes(plan.getByText(/^\d+\s[AP]M$/));
      assert.ok(hours.length >= 7, `${hours.length} hours`);
      for (const [i, { x }] of hours.slice(1).entries()) {
        const gap = x - (hours[i].x + hours[i].width);
        assert.ok(gap >= 8, `${gap} pixels between hours`);
      }
    });
  });

  for (const width of [820, 390]) {
    it(`fits long emails and the buttons beside them in ${width} pixels`, async () => {
      const name = `Ada of ${width}`;
      await api("POST", "/users", { email: email(`ada-${width}`), name, role: "STAFF", storeIds: [storeId] });
      await as(browser, owner, async (page) => {
        const row = (await open(page, width, "/team", "Team", "Pending invitations"))
          .getByRole("row")
          .filter({ hasText: name });
        for (const { x, width: length } of await boxes(row.getByRole("button")))
          assert.ok(x >= 0 && x + length <= width, `a button lies between ${x} and ${x + length}`);
        await narrow(page, "Team");
      });
    });
  }

  it("labels the values of lists on a phone, where columns have no headings", async () => {
    const product = await api("POST", "/products", { name: "Rösti", priceMinor: 1900, currency: "CHF" });
    await api("POST", "/orders", {
      items: [{ productId: product.id, quantity: 1 }],
      fulfillmentType: "PICKUP",
      customer: { name: "Ada", email: email("guest") },
    });
    await as(browser, owner, async (page) => {
      const customer = (await open(page, 390, "/customers", "Customers", "Customers"))
        .getByRole("row")
        .filter({ hasText: email("guest") });
      for (const label of ["Orders", "Points", "Since"]) await customer.getByText(label, { exact: true }).waitFor();
      await narrow(page, "Customers");
      const products = await open(page, 390, "/products", "Products", "Products");
      await products.locator("td").getByText("Stock", { exact: true }).first().waitFor();
    });
    await api("DELETE", `/products/${product.id}`); // other tests expect an empty menu
  });
});
