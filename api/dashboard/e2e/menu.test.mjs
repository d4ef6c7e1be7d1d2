import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";

import {
  accessible,
  as,
  choose,
  client,
  launch,
  narrow,
  pressUntil,
  settled,
  shoot,
  until,
  userOf,
  visit,
  world,
} from "./world.mjs";

let browser, api;
before(async () => {
  browser = await launch();
  api = await client(userOf("MANAGER"));
});
after(() => browser.close());

let created = 0;

/** Creates a product in a category that no other test has. */
const dish = (more = {}) =>
  api("POST", "/products", {
    sku: `MENU-${process.pid}-${++created}`,
    name: `Dish ${process.pid}-${created}`,
    category: `Category ${process.pid}-${created}`,
    priceMinor: 1000,
    currency: "EUR",
    ...more,
  });

const own = ({ id }) => api("GET", `/products/${id}?own=true`);

const row = (page, { name }) => page.getByRole("row", { name: new RegExp(`^${name}`) });

/** Opens the products of a category, as a user with a role. */
const menuOf = (category, role, work, { viewport, ...options } = {}) =>
  as(
    browser,
    userOf(role),
    async (page, context) => {
      if (viewport) await page.setViewportSize(viewport); // after the login, which waits for the menu
      await page.goto(`/dashboard/products?category=${encodeURIComponent(category)}`);
      await page.getByRole("region", { name: "Products" }).waitFor();
      await work(page, context);
    },
    options,
  );

/** Moves an entry of a sortable list to a place. A busy page loses keys, responds late, or cancels a move. */
const moveTo = async (page, name, key, place) => {
  const handle = page.getByRole("button", { name: `Move ${name}` });
  const announced = async () => String(await page.locator("[id^=DndLiveRegion]").allTextContents());
  await until(`${name} is at position ${place}`, async () => {
    await handle.focus();
    const said = await announced();
    const lifted = (await handle.getAttribute("aria-pressed")) === "true";
    const at = Number(new RegExp(`${name} (?:is )?at position (\\d+) of`).exec(said)?.[1]);
    if (lifted && at === place) return true;
    await page.keyboard.press(!lifted ? key : at > place ? "ArrowUp" : "ArrowDown");
    for (let i = 0; i < 20 && (await announced()) === said; i++) await setTimeout(100);
    return false;
  });
  await page.keyboard.press(key);
  await page.getByText(`${name} was dropped at position ${place} of`).waitFor({ state: "attached" });
};

const phone = { viewport: { width: 360, height: 740 }, hasTouch: true };

describe("a dish", () => {
  it("is sold out for today, until a time or until further notice, with one hand", async () => {
    const product = await dish();
    await menuOf(
      product.category,
      "MANAGER",
      async (page) => {
        const button = row(page, product).getByRole("button", { name: /^Availability of/ });
        const choose = async (item) => {
          await button.click();
          const entry = page.getByRole("menuitem", { name: item });
          assert.ok((await entry.boundingBox()).height >= 44, `${item} is lower than 44 pixels`);
          await entry.click();
        };
        assert.ok((await button.boundingBox()).height >= 44, "the button is lower than 44 pixels");
        await choose(/^Sold out for today/);
        await row(page, product)
          .getByRole("button", { name: /: Sold out$/ })
          .waitFor();
        const soldOut = await own(product);
        assert.ok(Date.parse(soldOut.soldOutUntil) > Date.now(), soldOut.soldOutUntil);
        assert.ok(Date.parse(soldOut.soldOutUntil) < Date.now() + 25 * 3_600_000, soldOut.soldOutUntil);
        assert.equal(soldOut.orderable, false);
        await shoot(page, "products-sold-out-phone");

        await choose("Available again");
        await row(page, product)
          .getByRole("button", { name: /: Available$/ })
          .waitFor();
        assert.equal((await own(product)).soldOutUntil, undefined);

        await choose("Sold out until…");
        const later = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10);
        await page
          .getByRole("dialog")
          .getByLabel(/^Date and time/)
          .fill(`${later}T12:00`);
        await page.getByRole("dialog").getByRole("button", { name: "Mark as sold out" }).click();
        await row(page, product)
          .getByRole("button", { name: /: Sold out$/ })
          .waitFor();
        assert.equal((await own(product)).soldOutUntil.slice(0, 10), later);

        await choose("Unavailable until further notice");
        await row(page, product)
          .getByRole("button", { name: /: Unavailable$/ })
          .waitFor();
        assert.equal((await own(product)).isAvailable, false);
        await choose("Available again");
        await row(page, product)
          .getByRole("button", { name: /: Available$/ })
          .waitFor();
        assert.equal((await own(product)).orderable, true);
        await narrow(page, "Products");
      },
      phone,
    );
  });

  it("has its stock adjusted and set without overwriting orders", async () => {
    const product = await dish({ stockQuantity: 5 });
    await menuOf(product.category, "MANAGER", async (page) => {
      const open = async () => {
        await row(page, product)
          .getByRole("button", { name: /^Stock of/ })
          .click();
        return page.getByRole("dialog");
      };
      let dialog = await open();
      // An order takes two meanwhile.
      await api("POST", `/products/${product.id}/stock`, { adjust: -2 });
      await dialog.getByRole("button", { name: "One more" }).click();
      await dialog.getByRole("button", { name: "One more" }).click();
      await dialog.getByText("New stock: 7").waitFor();
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.waitFor({ state: "detached" });
      assert.equal((await own(product)).stockQuantity, 5);

      dialog = await open();
      await dialog.getByRole("radio", { name: "Set" }).click();
      await dialog.getByLabel("Units in stock").fill("40");
      await api("POST", `/products/${product.id}/stock`, { adjust: -1 });
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.getByText(/The stock is now 4/).waitFor();
      assert.equal(await dialog.getByLabel("Units in stock").inputValue(), "40");
      await accessible(page, "the stock of a product");
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.waitFor({ state: "detached" });
      await row(page, product).getByRole("button", { name: /: 40$/ }).waitFor();

      dialog = await open();
      await dialog.getByLabel(/^Units to add/).fill("-41");
      await dialog.getByText("The stock cannot be below 0").waitFor();
      await dialog.getByRole("radio", { name: "Set" }).click();
      await dialog.getByRole("button", { name: "Save" }).click();
      await row(page, product)
        .getByRole("button", { name: /: not tracked$/ })
        .waitFor();
      assert.equal((await own(product)).stockQuantity, undefined);
    });
  });

  it("is deleted although it has changed meanwhile", async () => {
    const product = await dish();
    await menuOf(product.category, "ADMIN", async (page) => {
      await row(page, product)
        .getByRole("button", { name: /^Delete/ })
        .click();
      const dialog = page.getByRole("dialog");
      await api("PATCH", `/products/${product.id}`, { description: "changed" });
      await dialog.getByRole("button", { name: "Delete" }).click();
      await dialog.getByText("Another user has changed this").waitFor();
      await dialog.getByRole("button", { name: "Delete" }).click();
      await dialog.waitFor({ state: "detached" });
      await page.getByText("No products match these filters").waitFor();
    });
  });
});

const option = (name, priceMinor = 0, more = {}) => ({ name, priceMinor, prices: { USD: priceMinor }, ...more });

/** Opens the form of a product. */
async function edit(page, product) {
  await row(page, product).getByRole("button", { name: /^Edit/ }).click();
  const form = page.getByRole("dialog", { name: `Edit ${product.name}` });
  await form.waitFor();
  return form;
}

const save = async (form) => {
  await form.getByRole("button", { name: "Save", exact: true }).click();
  await form.waitFor({ state: "detached" });
};

const optionsOf = async (product) =>
  (await own(product)).optionGroups.map(({ name, options }) => [name, options.map((one) => one.name).join()]);

describe("options", () => {
  it("are added with bounds, prices, translations, and ordered by keyboard, pointer and menu", async () => {
    const product = await dish();
    await menuOf(product.category, "MANAGER", async (page) => {
      const form = await edit(page, product);
      await form.getByRole("button", { name: "Add group" }).click();
      await form.getByLabel("Group name", { exact: true }).fill("Größe");
      await form.getByLabel("Group name, en-US").fill("Size");
      await form.getByLabel("Minimum").fill("2");
      await form.getByLabel("Option name").fill("Klein");
      await form.getByRole("button", { name: "Add option" }).click();
      await form.getByLabel("Option name").nth(1).fill("Groß");
      await form.getByLabel("Price of Groß in EUR").fill("2,50");
      await form.getByRole("button", { name: "Details of Groß" }).click();
      await form.getByLabel("Price in USD").fill("3");
      await form.getByLabel("Name, en-US", { exact: true }).last().fill("Large");
      await form.getByRole("button", { name: "Add option" }).click();
      await form.getByLabel("Option name").nth(2).fill("Riesig");
      await form.getByRole("button", { name: "Save", exact: true }).click();
      await form.getByText("Must not exceed the maximum").waitFor();
      assert.equal(
        await page.evaluate(() => document.activeElement.getAttribute("aria-invalid")),
        "true",
        "the focus is on the invalid field",
      );
      await form.getByLabel("Minimum").fill("1");
      await accessible(page, "the options of a product");
      await shoot(page, "product-options");

      // The keyboard moves the third option to the first place.
      await moveTo(page, "Riesig", "Space", 1);
      // Escape cancels a move, and does not close the form.
      await form.getByRole("button", { name: "Move Klein" }).focus();
      await page.keyboard.press("Space");
      await page.getByText("Klein is at position 2 of 3.").waitFor({ state: "attached" });
      await pressUntil(page, "Escape", page.getByText(/Cancelled. Klein stays/));
      // The menu moves without dragging.
      await form.getByRole("button", { name: "Actions of Klein" }).click();
      await page.getByRole("menuitem", { name: "Move down" }).click();
      await save(form);
      const [{ name, translations, minSelections, maxSelections, options }] = (await own(product)).optionGroups;
      assert.deepEqual(
        [name, translations, minSelections, maxSelections],
        ["Größe", { "en-US": { name: "Size" } }, 1, 1],
      );
      assert.deepEqual(
        options.map((one) => [one.name, one.priceMinor, one.prices, one.translations]),
        [
          ["Riesig", 0, { USD: 0 }, {}],
          ["Groß", 250, { USD: 300 }, { "en-US": { name: "Large" } }],
          ["Klein", 0, { USD: 0 }, {}],
        ],
      );
    });
  });

  it("are dragged, copied from another product and removed", async () => {
    const source = await dish({
      optionGroups: [
        { name: "Sauce", options: [option("Aioli", 100), option("Ketchup")] },
        { name: "Bread", options: [option("Rye")] },
      ],
    });
    const product = await dish({ category: source.category });
    await menuOf(source.category, "MANAGER", async (page) => {
      let form = await edit(page, product);
      await form.getByRole("button", { name: "Copy from a product" }).click();
      const copy = page.getByRole("dialog", { name: "Copy a group" });
      await copy.getByLabel("Product").fill(source.name);
      await copy.getByRole("button", { name: `Copy Sauce of ${source.name}` }).click();
      await copy.waitFor({ state: "detached" });
      await save(form);
      assert.deepEqual(await optionsOf(product), [["Sauce", "Aioli,Ketchup"]]);
      const ids = ({ optionGroups }) =>
        optionGroups.flatMap(({ id, options }) => [id, ...options.map((one) => one.id)]);
      const known = new Set(ids(await own(source)));
      assert.ok(!ids(await own(product)).some((id) => known.has(id)), "the copy has new ids");

      form = await edit(page, source);
      const [from, to] = [
        form.getByRole("button", { name: "Move Bread" }),
        form.getByRole("button", { name: "Move Sauce" }),
      ];
      await from.scrollIntoViewIfNeeded();
      const [a, b] = [await from.boundingBox(), await to.boundingBox()];
      await page.mouse.move(a.x + a.width / 2, a.y + a.height / 2);
      await page.mouse.down();
      for (let step = 1; step <= 5; step++)
        await page.mouse.move(a.x + a.width / 2, a.y + a.height / 2 + ((b.y - a.y - 10) * step) / 5);
      await page.getByText("Bread is at position 1 of 2.").waitFor({ state: "attached" });
      await page.mouse.up();
      await page.getByText(/Bread was dropped at position 1/).waitFor({ state: "attached" });
      await save(form);
      assert.deepEqual(await optionsOf(source), [
        ["Bread", "Rye"],
        ["Sauce", "Aioli,Ketchup"],
      ]);

      form = await edit(page, source);
      await form.getByRole("button", { name: "Actions of Bread" }).click();
      await page.getByRole("menuitem", { name: "Remove" }).click();
      await save(form);
      assert.deepEqual(await optionsOf(source), [["Sauce", "Aioli,Ketchup"]]);
    });
  });

  it("that the API refuses are marked at their field", async () => {
    const groups = ["Size", "Extras", "Sauce"].map((name) => ({ name, options: [option("One"), option("Two")] }));
    const product = await dish({ optionGroups: groups });
    await menuOf(product.category, "MANAGER", async (page) => {
      const form = await edit(page, product);
      await form.getByRole("button", { name: /^Sauce/ }).click();
      await form.getByLabel("Price of One in EUR").fill("9999999999999"); // above the limit of the API
      await form.getByRole("button", { name: /^Size/ }).click();
      await form.getByRole("button", { name: "Save", exact: true }).click();
      await form.getByRole("button", { name: /^Sauce.*1 error/ }).waitFor();
      const price = form.getByLabel("Price of One in EUR");
      await price.waitFor();
      assert.equal(await price.getAttribute("aria-invalid"), "true");
      await form
        .getByText(/must be at most/)
        .first()
        .waitFor();
      await price.fill("1");
      await save(form);
    });
  });

  it("stay usable at the limits", async () => {
    const product = await dish({
      optionGroups: Array.from({ length: 20 }, (_, i) => ({
        name: `Group ${i + 1}`,
        options: Array.from({ length: 100 }, (_, j) => option(`Option ${i + 1}.${j + 1}`, j)),
      })),
    });
    await menuOf(product.category, "MANAGER", async (page) => {
      const form = await edit(page, product);
      assert.equal(await form.getByRole("button", { name: "Add group" }).isDisabled(), true);
      await form.getByRole("button", { name: /^Group 20/ }).click();
      const last = form.getByLabel("Option name").last();
      await last.fill("The last option");
      assert.equal(await form.getByRole("button", { name: "Add option" }).isDisabled(), true);
      await save(form);
      const { options } = (await own(product)).optionGroups.at(-1);
      assert.equal(options.at(-1).name, "The last option");
    });
  });

  it("are edited on a phone", async () => {
    const product = await dish({
      optionGroups: [{ name: "Extras", options: [option("Olives", 150), option("Capers")] }],
    });
    await menuOf(
      product.category,
      "MANAGER",
      async (page) => {
        const form = await edit(page, product);
        await form.getByRole("button", { name: /^Extras/ }).click();
        await form.getByRole("button", { name: "Actions of Capers" }).click();
        await page.getByRole("menuitem", { name: "Show details" }).click();
        await form.getByLabel("Price in USD").waitFor();
        const hidden = await form.evaluate((dialog) => dialog.scrollWidth - dialog.clientWidth);
        assert.ok(hidden <= 0, `${hidden} pixels of the form are hidden`);
        for (const name of ["Move Capers", "Actions of Capers", "Add option"]) {
          const { height } = await form.getByRole("button", { name }).boundingBox();
          assert.ok(height >= 44, `${name} is ${height} pixels high`);
        }
        await form.getByLabel("Price in USD").scrollIntoViewIfNeeded();
        await shoot(page, "product-options-phone");
        await narrow(page, "the form");
      },
      phone,
    );
  });
});

describe("an edit", () => {
  it("of a product that another user has changed keeps every entry", async () => {
    const product = await dish({ description: "Old", stockQuantity: 9 });
    await menuOf(product.category, "MANAGER", async (page) => {
      const form = await edit(page, product);
      await form.getByLabel("SKU").fill(`${product.sku}-mine`);
      await form.getByLabel("Description", { exact: true }).fill("Mine");
      await api("PATCH", `/products/${product.id}`, { description: "Theirs", priceMinor: 1234 });
      await form.getByRole("button", { name: "Save", exact: true }).click();
      const changes = form.getByRole("region", { name: "Changes by another user" });
      await changes.getByRole("row", { name: "Description Old Theirs Mine" }).waitFor();
      await changes.getByRole("row", { name: "Price in EUR 10.00 12.34" }).waitFor();
      assert.equal(await form.getByLabel("Description", { exact: true }).inputValue(), "Mine");
      assert.equal(await form.getByLabel("EUR", { exact: true }).inputValue(), "12.34");
      await accessible(page, "a conflict");
      await changes.scrollIntoViewIfNeeded();
      await shoot(page, "product-conflict");
      await save(form);
      const saved = await own(product);
      assert.deepEqual([saved.sku, saved.description, saved.priceMinor], [`${product.sku}-mine`, "Mine", 1234]);
    });
  });

  it("is not interrupted by orders, which change the stock", async () => {
    const product = await dish({ stockQuantity: 9 });
    await menuOf(product.category, "MANAGER", async (page) => {
      const form = await edit(page, product);
      await form.getByLabel("Description", { exact: true }).fill("Hot");
      await api("POST", `/products/${product.id}/stock`, { adjust: -4 });
      await save(form);
      const saved = await own(product);
      assert.deepEqual([saved.description, saved.stockQuantity], ["Hot", 5]);
    });
  });

  it("is discarded only after a question", async () => {
    const product = await dish();
    await menuOf(product.category, "MANAGER", async (page) => {
      const form = await edit(page, product);
      await form.getByLabel("Description", { exact: true }).fill("Typed");
      await page.keyboard.press("Escape");
      const question = page.getByRole("dialog", { name: "Discard your changes?" });
      await question.getByRole("button", { name: "Keep editing" }).click();
      await question.waitFor({ state: "detached" });
      assert.equal(await form.getByLabel("Description", { exact: true }).inputValue(), "Typed");
      await form.getByRole("button", { name: "Cancel" }).click();
      await question.getByRole("button", { name: "Discard" }).click();
      await form.waitFor({ state: "detached" });
      await edit(page, product);
      await page.keyboard.press("Escape");
      await form.waitFor({ state: "detached" });
    });
  });

  it("shows the image of a URL, or that it cannot be loaded", async () => {
    const product = await dish();
    await menuOf(product.category, "MANAGER", async (page, context) => {
      await context.route("https://images.example/**", (route) =>
        route.request().url().endsWith("dish.svg")
          ? route.fulfill({
              contentType: "image/svg+xml",
              body: '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"></svg>',
            })
          : route.fulfill({ status: 404, body: "" }),
      );
      const form = await edit(page, product);
      const url = form.getByLabel("Image URL");
      await url.fill("https://images.example/dish.svg");
      const preview = form.getByRole("img", { name: "Preview" });
      await preview.waitFor();
      await page.waitForFunction(() => document.querySelector("img[alt=Preview]")?.naturalWidth === 40);
      assert.equal(await preview.getAttribute("referrerpolicy"), "no-referrer");
      await url.fill("https://images.example/missing.png");
      await form.getByText("The image cannot be loaded").waitFor();
      await url.fill("http://images.example/dish.svg");
      await form.getByText("The image cannot be loaded").waitFor({ state: "detached" });
      assert.equal(await preview.count(), 0);
    });
  });
});

describe("the menu", () => {
  it("has the names of the default view in every view", async () => {
    const product = await dish({
      name: `Stew ${process.pid}`,
      translations: { de: { name: `Eintopf ${process.pid}`, description: "Heiß" } },
    });
    await menuOf(product.category, "STAFF", async (page) => {
      await page.getByText(`Eintopf ${process.pid}`).waitFor();
      await page.getByText("Heiß").waitFor();
      await choose(page, "View", "en-US · USD");
      await page.getByText("no USD price").waitFor();
      await page.getByText(`Eintopf ${process.pid}`).waitFor();
      await settled(page);
      await page.goto("/dashboard/orders/new");
      await page.getByLabel("Search the menu").fill(`Eintopf ${process.pid}`);
      await page.getByRole("button", { name: new RegExp(`^Eintopf ${process.pid}.*no price in USD`) }).waitFor();
    });
  });

  it("shows all columns and actions on a tablet", async () => {
    const product = await dish({ name: `Kohlrabi ${process.pid}`, stockQuantity: 12 });
    await menuOf(product.category, "MANAGER", async (page) => {
      await row(page, product).waitFor();
      await page.setViewportSize({ width: 820, height: 1180 });
      const list = page.getByRole("region", { name: "Products", exact: true });
      await until("the list of products fits a tablet", () =>
        list.evaluate((region) => region.scrollWidth <= region.clientWidth),
      );
      for (const button of await row(page, product).getByRole("button").all()) {
        const box = await button.boundingBox();
        assert.ok(box.x >= 0 && box.x + box.width <= 820, `${await button.innerText()} is outside of the tablet`);
      }
      await accessible(page, "the list of products on a tablet");
      await shoot(page, "products-tablet");
    });
  });

  it("is ordered with the keyboard, the pointer and the menu of a product", async () => {
    const first = await dish();
    const { category } = first;
    const others = [await dish({ category }), await dish({ category }), await dish({ category })];
    const [a, b, c, d] = [first, ...others].map(({ name }) => name);
    const order = async () =>
      (await api("GET", `/products?own=true&sort=position&limit=100&category=${encodeURIComponent(category)}`)).map(
        ({ name }) => name,
      );
    assert.deepEqual(await order(), [a, b, c, d]);
    await menuOf(category, "MANAGER", async (page) => {
      await page.getByRole("button", { name: "Menu", exact: true }).click();
      await page.getByRole("menuitem", { name: "Change order" }).click();
      const list = page.getByRole("list", { name: `Order of ${category}` });
      await list.waitFor();
      const requests = [];
      page.on("request", (request) => request.method() !== "GET" && requests.push(request.url()));
      // The page reports a request later than the API executes it, but before its response.
      const saves = async (move, expected) => {
        const responded = page.waitForResponse((response) => response.request().method() !== "GET");
        await move();
        await until("the order is saved", async () => String(await order()) === String(expected));
        await responded;
      };

      await saves(() => moveTo(page, d, "Enter", 2), [a, d, b, c]);
      // Orders change the stock, and thereby the version, while the menu is arranged.
      await api("PATCH", `/products/${others[1].id}`, { stockQuantity: 7 });
      await page.getByRole("button", { name: `Actions of ${c}` }).click();
      await saves(() => page.getByRole("menuitem", { name: "Move to the top" }).click(), [c, a, d, b]);
      assert.equal((await own(others[1])).stockQuantity, 7);

      const sent = requests.length;
      const [from, to] = [`Move ${b}`, `Move ${a}`].map((name) => page.getByRole("button", { name }));
      const [start, end] = [await from.boundingBox(), await to.boundingBox()];
      const x = start.x + start.width / 2;
      await page.mouse.move(x, start.y + start.height / 2);
      await page.mouse.down();
      for (let step = 1; step <= 5; step++)
        await page.mouse.move(x, start.y + start.height / 2 + ((end.y - start.y) * step) / 5);
      await page.getByText(`${b} is at position 2 of 4.`).waitFor({ state: "attached" });
      await saves(() => page.mouse.up(), [c, b, a, d]);
      assert.equal(requests.length - sent, 1, "a move between others is one request");
      await accessible(page, "the order of the menu");
      await shoot(page, "products-order");

      // Another user moves the same product.
      await api("PATCH", `/products/${first.id}`, { position: 900_000 });
      await page.getByRole("button", { name: `Actions of ${a}` }).click();
      await page.getByRole("menuitem", { name: "Move to the top" }).click();
      await page
        .getByText(/Another user has changed the order/)
        .first()
        .waitFor();
      await list.getByRole("listitem").last().getByText(a).waitFor();
      assert.deepEqual(await order(), [c, b, d, a]);
      await page.getByRole("button", { name: "Done" }).click();
      await page.getByRole("heading", { level: 1, name: "Products" }).waitFor();
    });
  });

  it("is ordered on a phone", async () => {
    const product = await dish();
    const second = await dish({ category: product.category });
    await menuOf(
      product.category,
      "MANAGER",
      async (page) => {
        await page.getByRole("button", { name: "Menu", exact: true }).click();
        await page.getByRole("menuitem", { name: "Change order" }).click();
        const handle = page.getByRole("button", { name: `Move ${second.name}` });
        const { width, height } = await handle.boundingBox();
        assert.ok(width >= 44 && height >= 44, `the handle has ${width} × ${height} pixels`);
        await narrow(page, "the order of the menu");
        await shoot(page, "products-order-phone");
      },
      phone,
    );
  });
});

describe("an import", () => {
  const file = (name, text) => ({ name, mimeType: "", buffer: Buffer.from(text) });

  it("names each faulty row, previews the changes and makes them", async () => {
    const product = await dish({ name: "Before" });
    const sku = `IMPORT-${process.pid}`;
    const head = "\uFEFFsku;name;description;category;priceMinor;currency";
    await menuOf(product.category, "MANAGER", async (page) => {
      await page.getByRole("button", { name: "Menu", exact: true }).click();
      await page.getByRole("menuitem", { name: "Import…" }).click();
      const dialog = page.getByRole("dialog", { name: "Import products" });
      const input = dialog.getByLabel("CSV or JSON file");
      const send = (...rows) => input.setInputFiles(file("menu.csv", [head, ...rows, ""].join("\r\n")));
      const errors = dialog.getByRole("region", { name: "Errors in the file" });
      await send(`${sku};Soup;;;1250;EUR`, `${sku};Soup;;;1250;EUR`);
      await errors.getByRole("row", { name: /^3 sku is also in/ }).waitFor();
      await send(`${sku};Soup;;;"12,50";EUR`, "X-1;Tea;;;250;EUR", "X-2;Cake;;;a lot;EUR");
      await errors.getByRole("row", { name: /^2 priceMinor/ }).waitFor();
      await errors.getByRole("row", { name: /^4 priceMinor/ }).waitFor();
      assert.equal(await dialog.getByRole("button", { name: /^Import/ }).isDisabled(), true);
      await shoot(page, "products-import-errors");

      await send(
        `${sku};"Soup; hot";"two\nlines";${product.category};1250;EUR`,
        `${product.sku};'=After;;${product.category};1000;EUR`,
      );
      const preview = dialog.getByRole("region", { name: "Preview" });
      await preview.getByRole("columnheader", { name: "Change", exact: true }).waitFor();
      await preview.getByRole("row", { name: `${sku} New` }).waitFor();
      await preview.getByRole("row", { name: `${product.sku} Changed Name` }).waitFor();
      assert.equal((await own(product)).name, "Before");
      await accessible(page, "the preview of an import");
      await shoot(page, "products-import");
      await dialog.getByRole("button", { name: "Import 2 products" }).click();
      await dialog.getByText("Imported: 1 new, 1 changed, 0 unchanged.").waitFor();
      await dialog.getByRole("button", { name: "Done" }).click();
      await row(page, { name: "Soup; hot" }).waitFor();
      assert.equal((await own(product)).name, "=After");
    });
  });

  it("of an export changes nothing", async () => {
    const names = ["=1+1", "'=1+1", "+49", "-5", "@home", "'s", 'quoted "x"; and, more', "zwei\nZeilen"];
    for (const name of names) await dish({ name, description: `${name} `, stockQuantity: 0, taxRatePpm: 0 });
    const product = await dish();
    await menuOf(product.category, "MANAGER", async (page) => {
      const action = async (name) => {
        await page.getByRole("button", { name: "Menu", exact: true }).click();
        await page.getByRole("menuitem", { name }).click();
      };
      const [saved] = await Promise.all([page.waitForEvent("download"), action("Download as CSV")]);
      const text = readFileSync(await saved.path(), "utf8");
      assert.ok(text.startsWith("\uFEFFsku,name,"), text.slice(0, 80));
      assert.doesNotMatch(text, /(^|[,\n])"?[=+@]/);
      await action("Import…");
      const dialog = page.getByRole("dialog", { name: "Import products" });
      await dialog.getByLabel("CSV or JSON file").setInputFiles(await saved.path());
      await dialog.getByText(/^Preview: 0 new, 0 changed, \d+ unchanged\.$/).waitFor();
      assert.equal(await dialog.getByRole("button", { name: "Import", exact: true }).isDisabled(), true);
      await dialog
        .getByLabel("CSV or JSON file")
        .setInputFiles(file("menu.json", JSON.stringify([{ sku: product.sku, position: 5 }, { sku: "NEW" }])));
      await dialog.getByRole("row", { name: /^2 name is required for a new product/ }).waitFor();
    });
  });
});

describe("staff", () => {
  it("mark products as sold out only if the store lets them", async () => {
    const product = await dish({ name: `Risotto ${process.pid}` });
    const admin = await client(userOf("ADMIN"));
    const row = (page) => page.getByRole("row", { name: new RegExp(`^${product.name}`) });
    const availability = (page) => row(page).getByRole("button", { name: `Availability of ${product.name}` });
    await as(browser, userOf("STAFF"), async (page) => {
      await page.goto(`/dashboard/products?q=${encodeURIComponent(product.name)}`);
      await row(page).getByText("Available", { exact: true }).waitFor();
      assert.equal(await availability(page).count(), 0);
      await page.goto("/dashboard/orders/new");
      await page.getByLabel("Search the menu").fill(product.name);
      await page.getByRole("button", { name: new RegExp(`^${product.name}`) }).waitFor();
      assert.equal(await page.getByRole("button", { name: /^Availability of / }).count(), 0);
    });
    await as(browser, userOf("ADMIN"), async (page) => {
      await visit(page, "Settings");
      await page.getByLabel("Mark products as sold out").check();
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("Settings saved").first().waitFor();
    });
    try {
      await as(browser, userOf("STAFF"), async (page) => {
        await page.goto(`/dashboard/products?q=${encodeURIComponent(product.name)}`);
        await availability(page).click();
        assert.equal(await page.getByRole("menuitem", { name: /^Unavailable/ }).count(), 0);
        await page.getByRole("menuitem", { name: /^Sold out for today/ }).click();
        await row(page).getByText("Sold out").waitFor();
        await availability(page).click();
        await page.getByRole("menuitem", { name: "Available again" }).click();
        await row(page).getByText("Available", { exact: true }).waitFor();

        // The form for an order has the same menu beside each product.
        await page.goto("/dashboard/orders/new");
        await page.getByLabel("Search the menu").fill(product.name);
        const entry = page.getByRole("button", { name: new RegExp(`^${product.name}`) });
        const menu = page.getByRole("button", { name: `Availability of ${product.name}` });
        await entry.click();
        await page.getByLabel(`Quantity of ${product.name}`).waitFor();
        // The menu and its dialog stay open until another search has ended.
        let answer;
        const answered = new Promise((resolve) => (answer = resolve));
        await page.route(/\/products\?q=/, async (route) => {
          await answered;
          await route.continue();
        });
        const asked = page.waitForRequest(/\/products\?q=/);
        await page.getByLabel("Search the menu").fill(product.name.toLowerCase());
        await asked;
        await menu.click();
        await page.getByRole("menuitem", { name: "Sold out until…" }).click();
        const found = page.waitForResponse(/\/products\?q=/);
        answer();
        await found;
        await page.getByRole("dialog").getByRole("button", { name: "Mark as sold out" }).click();
        await entry.getByText("sold out").waitFor();
        assert.ok(await entry.isDisabled());
        assert.equal(new URL(page.url()).pathname, "/dashboard/orders/new"); // the order is not placed
        await accessible(page, "A product that is sold out in a new order");
        await shoot(page, "order-new-sold-out");
        await menu.click();
        await page.getByRole("menuitem", { name: "Available again" }).click();
        await until("the product can be ordered again", () => entry.isEnabled());
        await page.getByRole("button", { name: `Remove one ${product.name}` }).click();
      });
    } finally {
      await admin("PATCH", "/settings", { staffMay: [] });
    }
  });

  it("read the names of the default view on slips and in analytics, with options", async () => {
    const product = await dish({
      name: `Curry ${process.pid}`,
      translations: { "en-US": { name: `Spicy ${process.pid}` } },
      prices: { USD: 1200 },
      optionGroups: [
        {
          name: "Beilage",
          translations: { "en-US": { name: "Side" } },
          options: [option(`Reis ${process.pid}`, 100, { translations: { "en-US": { name: `Rice ${process.pid}` } } })],
        },
      ],
    });
    const [{ storeId }] = world.stores;
    const views = (await api("GET", "/store")).storeViews;
    const abroad = views.find(({ isDefault }) => !isDefault);
    const order = await api("POST", "/orders", {
      storeViewId: abroad.id,
      items: [{ productId: product.id, quantity: 3, options: [{ optionId: product.optionGroups[0].options[0].id }] }],
      fulfillmentType: "PICKUP",
      customer: { name: "=Tourist" },
    });
    assert.equal(order.items[0].productName, `Spicy ${process.pid}`, storeId);
    await as(browser, userOf("ADMIN"), async (page) => {
      await page.goto(`/dashboard/orders/${order.id}`);
      await page.getByText(`Curry ${process.pid}`).first().waitFor();
      await page.getByText(`Reis ${process.pid}`).first().waitFor();

      await page.goto(`/dashboard/analytics?range=7d&by=hour&currency=${abroad.currency}`);
      const sold = page.getByRole("region", { name: "Options sold" });
      const line = sold.getByRole("row", { name: new RegExp(`Reis ${process.pid} Beilage Curry ${process.pid} 3`) });
      await line.waitFor();
      await page.getByRole("region", { name: "Products sold" }).getByText(`Curry ${process.pid}`).waitFor();
    });
    await api("PATCH", `/orders/${order.id}/status`, { status: "COMPLETED" });
  });
});
