import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import {
  accessibleInThemes,
  as,
  home,
  launch,
  narrow,
  pressUntil,
  shoot,
  till,
  until,
  userOf,
  visit,
} from "./world.mjs";

let browser, api, place, complete;
before(async () => {
  browser = await launch();
  ({ api, place, complete } = await till());
});
after(() => browser.close());

const open = ["RECEIVED", "CONFIRMED", "PREPARING", "READY", "OUT_FOR_DELIVERY"]
  .map((one) => `status=${one}`)
  .join("&");

/** Completes the open orders, so that no other order rings. */
async function completeAll() {
  for (;;) {
    const orders = await api("GET", `/orders?${open}&limit=100`);
    if (orders.length === 0) return;
    for (const order of orders) await complete(order);
  }
}

const card = (page, order) => page.getByRole("article", { name: `Order ${order.orderId}`, exact: true });

describe("a new order", () => {
  it("rings until it is accepted, shows a notification and counts in the title", async () => {
    await completeAll();
    await as(browser, userOf("STAFF"), async (page, context) => {
      await context.grantPermissions(["notifications"]);
      await page.addInitScript(() => {
        globalThis.ringing = 0;
        const { start, stop } = globalThis.AudioBufferSourceNode.prototype;
        globalThis.AudioBufferSourceNode.prototype.start = function (...args) {
          if (this.loop) globalThis.ringing++;
          globalThis.every = this.buffer.duration;
          return start.apply(this, args);
        };
        globalThis.AudioBufferSourceNode.prototype.stop = function (...args) {
          globalThis.ringing--;
          return stop.apply(this, args);
        };
        globalThis.shown = [];
        globalThis.Notification = class extends EventTarget {
          static permission = "granted";
          static requestPermission = () => Promise.resolve("granted");
          constructor(title) {
            super();
            globalThis.shown.push(title);
          }
        };
      });
      await visit(page, "Orders");
      await page.getByText("Live updates").waitFor();
      assert.equal(await page.title(), "Orders · Comanda");
      await page.getByRole("button", { name: "Turn on sound" }).click();
      await page.getByRole("button", { name: "Board settings" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Repeat after seconds").fill("2");
      await dialog.getByLabel("Show a notification of new orders").click();
      await dialog.getByRole("checkbox", { name: "Show a notification of new orders", checked: true }).waitFor();
      await dialog.getByRole("button", { name: "Done" }).click();
      await visit(page, "Reservations"); // it rings on every page
      assert.equal(await page.evaluate(() => globalThis.ringing), 0);
      await page.evaluate(() => Object.defineProperty(document, "hidden", { value: true, configurable: true }));

      const order = await place("Ada");
      await page.waitForFunction(() => globalThis.ringing === 1);
      assert.equal(await page.evaluate(() => globalThis.every), 2);
      await until("the notification is shown", () => page.evaluate(() => globalThis.shown.length > 0));
      assert.deepEqual(await page.evaluate(() => globalThis.shown), [`New order ${order.orderId}`]);
      assert.equal(await page.title(), "(1) Reservations · Comanda");
      await api("PATCH", `/orders/${order.id}/status`, { status: "CONFIRMED" });
      await page.waitForFunction(() => document.title === "Reservations · Comanda");
      await page.waitForFunction(() => globalThis.ringing === 0);
      await complete(order);

      await page.reload(); // the settings are kept, and a click allows the sound again
      await visit(page, "Orders");
      await page.getByRole("button", { name: "Turn off sound" }).waitFor();
    });
  });

  it("rings in one of two tabs, and in the other one when that is closed", async () => {
    await completeAll();
    await as(
      browser,
      userOf("STAFF"),
      async (first, context) => {
        await context.addInitScript(() => {
          globalThis.ringing = 0;
          for (const [name, by] of [
            ["start", 1],
            ["stop", -1],
          ]) {
            const plain = globalThis.AudioBufferSourceNode.prototype[name];
            globalThis.AudioBufferSourceNode.prototype[name] = function (...args) {
              globalThis.ringing += by;
              return plain.apply(this, args);
            };
          }
        });
        await visit(first, "Orders");
        await first.getByRole("button", { name: "Turn on sound" }).click();
        const second = await context.newPage();
        await second.goto("/dashboard/orders");
        await second.getByRole("button", { name: "Allow sound" }).click();
        await second.getByRole("button", { name: "Turn off sound" }).waitFor();
        const order = await place("Ada");
        const ringing = async () => {
          const counts = [];
          for (const tab of [first, second])
            counts.push(tab.isClosed() ? 0 : await tab.evaluate(() => globalThis.ringing));
          return counts;
        };
        for (const tab of [first, second]) await card(tab, order).waitFor();
        await until("a tab rings", async () => (await ringing()).includes(1));
        const counts = await ringing();
        assert.deepEqual(counts.toSorted(), [0, 1]);
        await [first, second][counts.indexOf(1)].close();
        await until("the other tab rings", async () => (await ringing()).includes(1));
        await complete(order);
      },
      { own: true },
    );
  });

  it("is announced by the service worker if the browser refuses notifications of a page", async () => {
    await completeAll();
    await as(browser, userOf("STAFF"), async (page) => {
      await page.addInitScript(() => {
        globalThis.shown = [];
        globalThis.localStorage.setItem("comanda.board", JSON.stringify({ notify: true }));
        globalThis.Notification = class {
          static permission = "granted";
          constructor() {
            throw new TypeError("Illegal constructor. Use ServiceWorkerRegistration.showNotification() instead.");
          }
        };
        const scripts = [];
        const showNotification = async (title) => void globalThis.shown.push(`${scripts}: ${title}`);
        Object.defineProperties(navigator.serviceWorker, {
          register: { value: async (script) => void scripts.push(script) },
          ready: { value: Promise.resolve({ showNotification }) },
        });
      });
      await visit(page, "Orders");
      await page.getByText("Live updates").waitFor();
      await page.evaluate(() => Object.defineProperty(document, "hidden", { value: true, configurable: true }));
      const order = await place("Ada");
      await page.waitForFunction(() => globalThis.shown.length > 0);
      assert.deepEqual(await page.evaluate(() => globalThis.shown), [
        `/dashboard/notifications.js: New order ${order.orderId}`,
      ]);
      const script = await page.request.get("/dashboard/notifications.js");
      assert.match(script.headers()["content-type"], /^text\/javascript/);
      await complete(order);
    });
  });

  it("is announced again if the service reminds of it", async () => {
    const order = await place("Ada");
    await as(browser, userOf("STAFF"), async (page) => {
      const event = { id: order.id, orderId: order.orderId, status: order.status, version: order.version };
      await page.route("**/orders/stream", (route) =>
        route.fulfill({
          headers: { "Content-Type": "text/event-stream" },
          body: `event: order\ndata: ${JSON.stringify({ ...event, reminder: true })}\n\n`,
        }),
      );
      await home(page);
      await page.getByText(`Order ${order.orderId} still waits for acceptance`).first().waitFor();
      await visit(page, "Orders");
      await card(page, order).getByText("Still waits for acceptance").waitFor();
    });
    await complete(order);
  });

  it("is printed when it is accepted, if chosen", async () => {
    const dish = await api("POST", "/products", {
      name: "Burger of the slip",
      priceMinor: 1000,
      currency: "EUR",
      optionGroups: [{ name: "Extras", maxSelections: 2, options: [{ name: "Double cheese", priceMinor: 100 }] }],
    });
    const [{ options }] = dish.optionGroups;
    const order = await place("Grace Hopper", {
      items: [{ productId: dish.id, quantity: 2, options: [{ optionId: options[0].id }], note: "Well done" }],
      note: "No onions",
      fulfillmentType: "DELIVERY",
      deliveryAddress: { line1: "Hauptstr. 1", city: "Berlin", country: "DE", notes: "Ring twice" },
      customer: { name: "Grace Hopper", phone: "+491512345678" },
    });
    await as(browser, userOf("STAFF"), async (page) => {
      await page.addInitScript(() => {
        globalThis.printed = 0;
        globalThis.print = () => globalThis.printed++;
      });
      await visit(page, "Orders");
      await page.getByRole("button", { name: "Board settings" }).click();
      await page.getByLabel("Print when you accept an order").selectOption("both");
      await page.getByRole("button", { name: "Done" }).click();
      await card(page, order).getByText("+ Double cheese").waitFor();
      await card(page, order)
        .getByRole("button", { name: `Confirm order ${order.orderId}` })
        .click();
      await page.getByRole("button", { name: "Send now" }).click();
      await page.waitForFunction(() => globalThis.printed === 1);
      await page.emulateMedia({ media: "print" });
      const slip = page.getByTestId("slip");
      await slip.getByText("No onions").waitFor();
      await slip.getByText("2×").waitFor();
      await slip.getByText("+ Double cheese").waitFor();
      await slip.getByText("Well done").waitFor();
      await slip.getByText(/^Ready at .*\d:\d\d/).waitFor();
      const receipt = page.getByTestId("receipt");
      await receipt.getByText("Total", { exact: true }).waitFor();
      for (const text of ["+491512345678", "Hauptstr. 1, Berlin, Germany", "Ring twice", "No onions"])
        await receipt.getByText(text, { exact: true }).waitFor();
      assert.equal(await receipt.getByText(/^(Including tax|Tax) [\d.]+% on /).count(), order.taxes.length);
      assert.equal(await page.getByRole("main").isVisible(), false);
      const pdf = (await page.pdf({ preferCSSPageSize: true })).toString("latin1");
      const widths = [...pdf.matchAll(/MediaBox ?\[0 0 (\d+)/g)].map(([, points]) => Math.round((points / 72) * 25.4));
      assert.deepEqual(widths, [80, 80]); // millimetres
    });
    await complete(order);
  });
});

describe("the board in a rush", () => {
  it("is operated with the keyboard", async () => {
    await completeAll();
    const orders = [await place("Ada"), await place("Grace")];
    await as(browser, userOf("STAFF"), async (page) => {
      await visit(page, "Orders");
      await card(page, orders[1]).waitFor();
      await page.keyboard.press("?");
      await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      const focused = (order) => card(page, order).locator(":focus");
      await card(page, orders[0]).waitFor();
      await pressUntil(page, "1", focused(orders[0]));
      await pressUntil(page, "ArrowDown", focused(orders[1]));
      await page.keyboard.press("Enter");
      const confirmed = page.getByRole("region", { name: "Confirmed" });
      const moved = confirmed.getByRole("article", { name: `Order ${orders[1].orderId}`, exact: true });
      await moved.waitFor();
      await page.keyboard.press("u");
      await moved.waitFor({ state: "detached" });
      await page.keyboard.press("b");
      await page.getByRole("button", { name: "Leave big view" }).waitFor();
      assert.equal(await page.getByRole("navigation", { name: "Sections" }).isVisible(), false);
      await page.keyboard.press("b");
      await page.getByRole("navigation", { name: "Sections" }).waitFor();
      await page.keyboard.press("n");
      await page.waitForURL(/orders\/new/);
    });
    for (const order of orders) await complete(order);
  });

  it("marks orders that are late", async () => {
    const order = await place("Ada");
    await as(
      browser,
      userOf("STAFF"),
      async (page) => {
        await page.clock.install({ time: Date.now() });
        await visit(page, "Orders");
        await card(page, order).locator("[data-urgency=normal]").waitFor();
        await page.clock.fastForward(16 * 60_000);
        await card(page, order).locator("[data-urgency=soon]").waitFor();
        await page.clock.fastForward(10 * 60_000);
        await card(page, order).getByText("late").waitFor();
      },
      { own: true },
    );
    await complete(order);
  });

  it("keeps orders for later in a separate lane, without a sound", async () => {
    await completeAll();
    const order = await place("Later", { requestedFor: new Date(Date.now() + 40 * 60_000).toISOString() });
    await as(
      browser,
      userOf("STAFF"),
      async (page) => {
        await page.clock.install({ time: Date.now() });
        await visit(page, "Orders");
        const lane = page.getByRole("region", { name: "Scheduled" });
        await lane.getByRole("link", { name: `#${order.orderId}` }).waitFor();
        assert.equal(await card(page, order).count(), 0);
        assert.equal(await page.title(), "Orders · Comanda");
        // The API decides when its preparation is due.
        await page.clock.fastForward(Date.parse(order.dueAt) - Date.now() + 60_000);
        await card(page, order).getByText(/^For /).waitFor();
        await page.waitForFunction(() => document.title === "(1) Orders · Comanda");
      },
      { own: true },
    );
    await complete(order);
  });

  it("pauses and resumes ordering with one click each", async () => {
    await api("POST", "/store/resume");
    await as(browser, userOf("STAFF"), async (page) => {
      await visit(page, "Orders");
      await page.getByRole("button", { name: "Pause ordering for 30 minutes" }).click();
      await page.getByText("Ordering is paused").waitFor();
      assert.ok((await api("GET", "/store")).orderingPausedUntil);
      await visit(page, "Reservations"); // the banner is on every page
      await page.getByText("Ordering is paused").waitFor();
      await page.getByRole("button", { name: "Resume" }).click();
      await page.getByText("Ordering is paused").waitFor({ state: "detached" });
      assert.equal((await api("GET", "/store")).orderingPausedUntil, null);
    });
  });

  it("fits a tablet and a phone, in both themes", async () => {
    const order = await place("Ada", { note: "No onions" });
    const tablet = { hasTouch: true };
    await as(
      browser,
      userOf("STAFF"),
      async (page) => {
        await page.setViewportSize({ width: 768, height: 1024 });
        await page.goto("/dashboard/orders");
        await card(page, order).waitFor();
        await accessibleInThemes(page, "board-tablet");
        const columns = page.locator("main section");
        assert.equal(await columns.count(), 5);
        for (const column of await columns.all()) {
          const { x, width } = await column.boundingBox();
          assert.ok(x >= 0 && x + width <= 768, `a column lies between ${x} and ${x + width}`);
        }
        for (const article of await page.getByRole("article").all()) {
          const [outer, inner] = [await article.boundingBox(), await article.locator("[data-step]").boundingBox()];
          assert.ok(inner.x + inner.width <= outer.x + outer.width, `a button leaves its card of ${outer.width}`);
          const print = await article.getByRole("button", { name: /^Print/ }).boundingBox();
          const gap = inner.x + inner.width - print.x - print.width;
          assert.ok(gap >= 0 && gap <= 1, `the print button is ${gap} pixels from the right edge of its card`);
        }
        for (const button of await page.getByRole("main").getByRole("button").all()) {
          const { height, width } = await button.boundingBox();
          assert.ok(height >= 44 && width >= 44, `${await button.innerText()}: ${width} × ${height}`);
        }
        await page.getByRole("button", { name: "Big view" }).click();
        await shoot(page, "board-big");
        await page.getByRole("button", { name: "Leave big view" }).click();
        await page.setViewportSize({ width: 360, height: 740 });
        await narrow(page, "the board");
      },
      tablet,
    );
    await complete(order);
  });
});
