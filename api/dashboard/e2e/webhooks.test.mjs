import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import {
  accessible,
  as,
  client,
  heading,
  home,
  launch,
  menu,
  narrow,
  settled,
  until,
  userOf,
  visit,
  world,
} from "./world.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

const attempts = (page) => page.getByRole("region", { name: "Attempts" });

describe("a webhook", () => {
  const [, zurich] = world.stores; // has no webhooks yet
  let api, product, path;

  before(async () => {
    api = await client(userOf("OWNER"), zurich.storeId);
    product = await api("POST", "/products", { name: "Rösti", priceMinor: 1800, currency: "CHF" });
  });

  const order = () =>
    api("POST", "/orders", {
      items: [{ productId: product.id, quantity: 1 }],
      fulfillmentType: "PICKUP",
      customer: { name: "Ada Lovelace" },
    });

  /** Places orders and waits until their deliveries have the given status. */
  const deliver = async (status, count = 1) => {
    const placed = new Set((await Promise.all(Array.from({ length: count }, order))).map((one) => one.id));
    assert.equal(placed.size, count);
    return until(`${count} deliveries are ${status}`, async () => {
      const found = await api("GET", `/deliveries?status=${status}&limit=${count}`);
      return found.length === count && found;
    });
  };

  /** Runs work on a page of the owner of that store. */
  const inZurich = (work) => as(browser, { ...userOf("OWNER"), storeIds: [zurich.storeId] }, work);

  const change = async (page, url) => {
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByRole("dialog").getByLabel("URL").fill(url);
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await heading(page, url).waitFor();
  };

  it("is created, tested and receives events", async () => {
    await inZurich(async (page) => {
      await visit(page, "Webhooks");
      await page.getByText("No webhooks yet").waitFor();
      await page.getByRole("button", { name: "Create webhook" }).last().click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("URL").fill("http://example.com");
      await dialog.getByRole("button", { name: "Select all" }).click();
      await dialog.getByText("15 of 15 selected").waitFor();
      await dialog.getByRole("button", { name: "Clear" }).click();
      assert.equal(await dialog.getByRole("button", { name: "Create" }).isDisabled(), true);
      await dialog.getByRole("checkbox", { name: /^order\.created/ }).check();
      await dialog.getByRole("button", { name: "Create" }).click();
      assert.equal(await dialog.getByLabel("URL").evaluate((input) => input.validity.patternMismatch), true);
      await accessible(page, "dialog Create webhook");
      await dialog.getByLabel("URL").fill(`${world.receiver}/204`);
      await dialog.getByRole("button", { name: "Create" }).click();
      const secret = await dialog.getByTestId("secret").innerText();
      assert.ok(secret.trim().length >= 32);
      await dialog.getByRole("button", { name: "Send test" }).click();
      await dialog.getByText("Test delivered. Your server responded with 204").waitFor();
      await dialog.getByRole("button", { name: "Open webhook" }).click();
      await heading(page, `${world.receiver}/204`).waitFor();
      path = new URL(page.url()).pathname;
      assert.ok(!(await page.content()).includes(secret), "the secret is still on the page");

      await attempts(page)
        .getByRole("row", { name: /test\.ping delivered 204/ })
        .getByRole("button")
        .click();
      await dialog.getByLabel("Request body").getByText('"type": "test.ping"').waitFor();
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });

      await order(); // the page updates without a reload
      await attempts(page)
        .getByRole("row", { name: /order\.created .*delivered 204/ })
        .waitFor();
    });
  });

  it("is replayed by keyboard, with the focus kept in the sheet", async () => {
    await deliver("delivered");
    await inZurich(async (page) => {
      await page.goto(path);
      const opener = await attempts(page)
        .getByRole("row", { name: /order\.created/ })
        .getByRole("button")
        .first()
        .elementHandle();
      await opener.focus();
      await page.keyboard.press("Enter");
      const sheet = page.getByRole("dialog");
      const replay = sheet.getByRole("button", { name: "Replay", exact: true });
      await replay.focus();
      await page.keyboard.press("Enter");
      await page.getByText("Replay queued").first().waitFor();
      await sheet.getByText("2 attempts").waitFor();
      assert.equal(
        await sheet.evaluate((dialog) => dialog.contains(document.activeElement)),
        true,
        "the focus has left the sheet",
      );
      await page.keyboard.press("Tab");
      assert.equal(
        await sheet.evaluate((dialog) => dialog.contains(document.activeElement)),
        true,
        "the focus leaves the sheet",
      );
      await page.keyboard.press("Escape");
      await sheet.waitFor({ state: "detached" });
      // The focus returns in a task after the sheet is removed.
      await until("the focus is restored", () => opener.evaluate((button) => button === document.activeElement));
      assert.ok(!page.url().includes("attempt="));
    });
  });

  it("fails, and its dead letters are replayed", async () => {
    await inZurich(async (page) => {
      await page.goto(path);
      await change(page, `${world.receiver}/503`);
      await deliver("dead_letter", 3);
      await page.reload();
      await page.getByRole("alert").getByText("The receiver has been failing since").waitFor();
      await page.getByRole("alert").getByText("This is day 1 of 7.").waitFor();
      await visit(page, "Dead letters");
      await page.getByRole("region", { name: "Dead letters by webhook and reason" }).getByText("/503").waitFor();
      await page.goto(path);
      await change(page, `${world.receiver}/204`);

      await visit(page, "Dead letters");
      const letters = page.getByRole("region", { name: "Dead letters", exact: true });
      await letters
        .getByRole("button", { name: /^Replay order\.created/ })
        .first()
        .click();
      await until("the replayed dead letter disappears", async () => (await letters.locator("tbody tr").count()) === 2);

      await page.getByRole("button", { name: "Replay…" }).first().click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("2 deliveries match these filters.").waitFor();
      await dialog.getByLabel("Event").selectOption("payment.failed");
      await dialog.getByText("No deliveries match these filters.").waitFor();
      assert.equal(await dialog.getByRole("button", { name: "Replay", exact: true }).isDisabled(), true);
      await dialog.getByLabel("Event").selectOption({ label: "Any" });
      await accessible(page, "dialog Replay deliveries");
      await dialog.getByRole("button", { name: "Replay 2" }).click();
      await dialog.getByText("completed").waitFor();
      await dialog.getByText("2 of 2 queued").waitFor();
      await dialog.getByRole("button", { name: "Done" }).click();
      await page.getByText("No dead letters").waitFor();
      await page.goto(path);
      await page.getByText("healthy").first().waitFor();
      assert.equal(await page.getByRole("alert").count(), 0);
    });
  });

  it("rotates its secret, is turned off and on, and is deleted", async () => {
    await inZurich(async (page) => {
      await page.goto(path);
      const dialog = page.getByRole("dialog");
      await page.getByRole("button", { name: "Rotate secret" }).click();
      await dialog.getByLabel("Overlap with the old secret").selectOption({ label: "1 hour" });
      await dialog.getByRole("button", { name: "Rotate" }).click();
      await dialog.getByText("Secret rotated").waitFor();
      await dialog.getByRole("button", { name: "Done" }).click();
      await page.getByText("valid until").waitFor();
      await page.getByRole("button", { name: "Turn off" }).click();
      await dialog.getByRole("button", { name: "Turn off" }).click();
      await page.getByRole("alert").getByRole("button", { name: "Turn on" }).click();
      await page.getByText("Webhook turned on").first().waitFor();
      await page.getByRole("button", { name: "Delete" }).click();
      await dialog.getByRole("button", { name: "Delete" }).click();
      await page.getByText("No webhooks yet").waitFor();
      await page.goto(path);
      await page.getByText("Webhook not found").waitFor();
    });
  });
});

describe("a webhook that was created late", () => {
  const [, zurich] = world.stores;
  const owner = { ...userOf("OWNER"), storeIds: [zurich.storeId] };

  it("receives the events that it missed", async (test) => {
    const api = await client(owner);
    const product = await api("POST", "/products", {
      name: `Fondue ${process.pid}`,
      priceMinor: 2900,
      currency: "CHF",
    });
    const order = await api("POST", "/orders", {
      items: [{ productId: product.id, quantity: 1 }],
      fulfillmentType: "PICKUP",
      customer: { name: "Ada Lovelace" },
    });
    // An event that is dispatched later goes to the webhook as any other.
    await until("the event is dispatched without the webhook", async () => {
      const [newest] = await api("GET", "/events?type=order.created&limit=1");
      return newest?.resource === `order/${order.id}`;
    });
    const webhook = await api("POST", "/webhooks", {
      url: `${world.receiver}/204?late`,
      events: ["order.created"],
      secret: "a secret that is long enough to be one",
    });
    test.after(() => api("DELETE", `/webhooks/${webhook.id}`));
    const from = new Date(Date.now() - 30 * 86_400_000).toISOString();
    const dryRun = () =>
      api("POST", `/webhooks/${webhook.id}/replay`, {
        from,
        status: "missed",
        eventType: "order.created",
        dryRun: true,
      });
    const { matched } = await until("the order counts as missed", async () => {
      const counted = await dryRun();
      return counted.matched > 0 && counted;
    });
    await as(browser, owner, async (page) => {
      await page.goto(`/dashboard/webhooks/${webhook.id}`);
      const dialog = page.getByRole("dialog");
      const status = dialog.getByLabel("Status");
      await page.getByRole("button", { name: "Replay…" }).click();
      await status.selectOption({ label: "Missed events" });
      await dialog.getByLabel("Webhook").selectOption({ label: "All webhooks" });
      await dialog.getByText("Choose one webhook to replay events that it missed.").waitFor();
      assert.equal(await status.inputValue(), "dead_letter");
      assert.equal(await status.getByRole("option", { name: "Missed events" }).count(), 0);
      await dialog.getByLabel("Webhook").selectOption({ value: webhook.id });
      await status.selectOption({ label: "Missed events" });
      await dialog.getByLabel("Event").selectOption("order.created");
      const found = matched === 1 ? "1 event matches" : `${matched} events match`;
      await dialog.getByText(`${found} these filters.`, { exact: true }).waitFor();
      await accessible(page, "dialog Replay deliveries, missed events");
      await page.setViewportSize({ width: 360, height: 740 });
      // The plots of the page follow the window after a moment.
      await until("the dialog Replay deliveries fits a phone", () =>
        page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
      );
      await dialog.getByRole("button", { name: `Replay ${matched}`, exact: true }).click();
      await dialog.getByText("completed").waitFor();
      await dialog.getByText(new RegExp(`^${matched} of ${matched} queued`)).waitFor();
      await dialog.getByRole("button", { name: "Done" }).click();
      // The plan's limit may delay the requests of these deliveries.
      await until("every event has a delivery", async () => {
        const deliveries = await api("GET", `/deliveries?webhookId=${webhook.id}&limit=100`);
        return deliveries.length === Math.min(matched, 100);
      });
      await until("no event counts as missed", async () => (await dryRun()).matched === 0);
      await page.reload();
      await page
        .locator("section", { has: page.getByRole("heading", { name: "Bulk replays" }) })
        .getByText("Missed events")
        .waitFor();
    });
  });
});

describe("a webhook that is turned off", () => {
  const owner = userOf("OWNER");
  let api, webhook, order;

  before(async () => {
    api = await client(owner);
    webhook = await api("POST", "/webhooks", {
      url: `${world.receiver}/503?off`,
      events: ["order.created"],
      secret: "a secret that is long enough to be one",
    });
    const product = await api("POST", "/products", { name: "Soup", priceMinor: 700, currency: "EUR" });
    order = await api("POST", "/orders", {
      items: [{ productId: product.id, quantity: 1 }],
      fulfillmentType: "PICKUP",
      customer: { name: "Ada" },
    });
    await until(
      "the dead letter",
      async () => (await api("GET", `/deliveries?webhookId=${webhook.id}&status=dead_letter`)).length === 1,
    );
    await api("PATCH", `/webhooks/${webhook.id}`, { isActive: false });
  });
  after(() => api("DELETE", `/webhooks/${webhook.id}`));

  it("says that a replay is useless, and what became of it", async () => {
    await as(browser, owner, async (page) => {
      await home(page);
      const link = menu(page).getByRole("link", { name: "Dead letters", exact: true });
      await until("the badge", async () => Number(await link.getAttribute("aria-description")) > 0);
      await visit(page, "Dead letters");
      await page.setViewportSize({ width: 360, height: 740 });
      await narrow(page, "Dead letters");
      await page.setViewportSize({ width: 1280, height: 900 });
      const letter = page
        .getByRole("region", { name: "Dead letters", exact: true })
        .locator("tr", { hasText: "/503?off" })
        .getByRole("button", { name: /^Replay/ });
      await letter.click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("the delivery becomes a dead letter again").waitFor();
      await accessible(page, "dialog Replay to a webhook that is turned off");
      await dialog.getByRole("button", { name: "Cancel" }).click();

      await page.goto(`/dashboard/webhooks/${webhook.id}`);
      await page.getByRole("button", { name: "Replay…" }).click();
      await dialog.getByRole("alert").getByText("turned off").waitFor();
      await dialog.getByRole("button", { name: "Replay 1" }).click();
      await dialog.getByText("1 dead letter again").waitFor();
      await dialog.getByRole("button", { name: "Done" }).click();
    });
  });

  it("shows the attempts of an event together, with its order", async () => {
    await as(browser, owner, async (page) => {
      await page.goto(`/dashboard/webhooks/${webhook.id}`);
      const rows = attempts(page).locator("tbody tr");
      await rows.nth(1).waitFor();
      assert.equal(await attempts(page).getByRole("link", { name: "Open order" }).count(), 1);
      await rows.first().getByRole("button").first().click();
      const sheet = page.getByRole("dialog");
      await sheet.getByRole("heading", { name: "All attempts of this event" }).waitFor();
      await accessible(page, "the attempts of an event");
      await sheet.getByRole("listitem").last().getByRole("button").click();
      await page.getByRole("dialog", { name: "Attempt 1 of order.created" }).waitFor();
      await sheet.getByRole("link", { name: "Open order" }).click();
      await page.waitForURL(`**/orders/${order.id}`);
    });
  });

  it("retries a delivery now", async () => {
    // The worker's only retry comes after a second. The browser therefore gets a delivery that still waits for it.
    const waiting = { status: "retrying", nextRetryAt: new Date(Date.now() + 3_600_000).toISOString() };
    await as(browser, owner, async (page) => {
      await page.route(/\/webhooks\/[^/]+\/deliveries\?/, async (route) => {
        const response = await route.fetch();
        const list = await response.json();
        Object.assign(list.data[0], waiting);
        await route.fulfill({ response, json: list });
      });
      await page.goto(`/dashboard/webhooks/${webhook.id}`);
      const row = attempts(page).locator("tbody tr").first();
      await row.getByRole("button", { name: "Retry now" }).click(); // the API knows that it has ended
      await page.getByText("deliver it again with POST /deliveries/{id}/replay").first().waitFor();

      await page.route(/\/deliveries\/dlv_[^/]+$/, async (route) => {
        const response = await route.fetch();
        const found = await response.json();
        await route.fulfill({ response, json: { ...found, data: { ...found.data, ...waiting } } });
      });
      const made = { id: "att_3", attemptNumber: 3, status: "failed", statusCode: 503, error: "HTTP 503" };
      await page.route("**/retry", (route) => route.fulfill({ json: { success: true, data: made, meta: {} } }));
      await row.getByRole("button").first().click();
      const sheet = page.getByRole("dialog");
      await sheet.getByRole("button", { name: "Retry now" }).click();
      await sheet.getByRole("status").getByText("Attempt 3 failed: HTTP 503.").waitFor();
    });
  });
});

describe("a webhook with 10,000 attempts", () => {
  const { busy } = world;
  const owner = world.users.find((user) => user.role === "OWNER" && user.storeIds.includes(busy.storeId));
  const path = `/dashboard/webhooks/${busy.webhookId}`;
  const pages = Math.ceil(busy.attempts / 20);
  const count = (n) => n.toLocaleString("en");

  it("shows any page, with a small document", async () => {
    await as(browser, owner, async (page) => {
      const range = (text) =>
        page.getByRole("navigation", { name: "Pages of attempts" }).getByText(text, { exact: true }).waitFor();
      const rows = () => attempts(page).locator("tbody tr");
      const small = async () => {
        const elements = await page.evaluate(() => document.querySelectorAll("*").length);
        assert.ok(elements < 1500, `${elements} elements`);
        assert.equal(await rows().count(), 20);
      };
      await page.goto(path);
      await range(`1–20 of ${count(busy.attempts)}`);
      await small();
      const newest = await rows().first().innerText();

      await page.getByLabel("Page", { exact: true }).fill(String(pages));
      await page.keyboard.press("Enter");
      await range(`${count(busy.attempts - 19)}–${count(busy.attempts)} of ${count(busy.attempts)}`);
      assert.match(page.url(), new RegExp(`page=${pages}$`));
      await small();
      await until("the last page is shown", async () => (await rows().first().innerText()) !== newest);
      const older = page.getByRole("button", { name: "Older" });
      assert.equal(await older.isDisabled(), true);
      await page.reload();
      await range(`${count(busy.attempts - 19)}–${count(busy.attempts)} of ${count(busy.attempts)}`);
      await page.getByRole("button", { name: "Newer" }).click();
      await range(`${count(busy.attempts - 39)}–${count(busy.attempts - 20)} of ${count(busy.attempts)}`);
      await page.goBack();
      await page.goBack();
      await range(`1–20 of ${count(busy.attempts)}`);

      for (let n = 0; n < 10; n++) await older.click(); // without waiting for their rows
      await range(`201–220 of ${count(busy.attempts)}`);
      await until("the eleventh page is shown", async () => (await rows().first().innerText()) !== newest);
      await small();

      await page.goto(`${path}?page=${pages + 1}`);
      await range(`Page ${pages + 1} does not exist`);
      await page.getByRole("button", { name: "Newer" }).click();
      await range(`${count(busy.attempts - 19)}–${count(busy.attempts)} of ${count(busy.attempts)}`);
    });
  });

  it("filters by outcome, event type and event ID", async () => {
    await as(browser, owner, async (page) => {
      const range = (text) =>
        page.getByRole("navigation", { name: "Pages of attempts" }).getByText(text, { exact: true }).waitFor();
      const card = page.locator("section", { has: page.getByRole("heading", { name: "Attempts" }) });
      await page.goto(`${path}?page=77`);
      await range(`1,521–1,540 of ${count(busy.attempts)}`);
      await card.getByLabel("Outcome").selectOption({ label: "Failed" });
      await range(`1–20 of ${count(busy.failed)}`);
      await card.getByLabel("Event", { exact: true }).selectOption("order.created");
      await range(`1–20 of ${count(busy.failed)}`); // every ninth attempt fails, and all of these are of this type
      await card.getByLabel("Event", { exact: true }).selectOption("order.completed");
      await page.getByText("No attempts match these filters").waitFor();
      await card.getByRole("button", { name: "Clear filters" }).click();
      await range(`1–20 of ${count(busy.attempts)}`);
      await card.getByLabel("Event ID").fill("evt_000000900");
      await card.getByRole("button", { name: "Find" }).click();
      await range("1–2 of 2");
      await attempts(page).getByRole("button").last().click();
      await page.getByRole("dialog", { name: "Attempt 1 of order.created" }).getByText("HTTP 503").first().waitFor();
      await page.keyboard.press("Escape");
      await card.getByRole("button", { name: "Clear filters" }).click();
      await range(`1–20 of ${count(busy.attempts)}`);
    });
  });

  it("stops a running bulk replay", async () => {
    await as(browser, owner, async (page) => {
      await page.goto(path);
      await page.getByRole("button", { name: "Replay…" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Status").selectOption({ value: "delivered" });
      await dialog.getByRole("button", { name: /^Replay 9,000/ }).click();
      // The plan's hourly limit would make the replay run for days.
      await dialog.getByText("running").waitFor();
      await dialog.getByText(/^[1-9]\d* of 9,000 queued/).waitFor();
      await dialog.getByRole("button", { name: "Stop replay" }).click();
      await dialog.getByText("cancelled", { exact: true }).waitFor();
      const queued = await dialog.getByText(/ of 9,000 queued/).innerText();
      assert.equal(await dialog.getByRole("button", { name: "Stop replay" }).count(), 0);
      await dialog.getByRole("button", { name: "Done" }).click();
      await page.reload();
      const replays = page.locator("section", { has: page.getByRole("heading", { name: "Bulk replays" }) });
      await replays.getByText("cancelled", { exact: true }).waitFor();
      assert.equal((await replays.getByText(/ of 9,000 queued/).innerText()).split(" ")[0], queued.split(" ")[0]);
    });
  });
});

describe("webhooks of a store", () => {
  for (const role of ["STAFF", "MANAGER"]) {
    it(`are hidden from ${role}, who knows their paths`, async () => {
      const api = await client(userOf("OWNER"));
      const webhook = await api("POST", "/webhooks", {
        url: `${world.receiver}/204?${role}`,
        events: ["order.created"],
        secret: "a secret that is long enough to be one",
      });
      await as(browser, userOf(role), async (page) => {
        const requests = [];
        page.on(
          "request",
          (request) =>
            // The deliveries of an order are for everyone who sees the order.
            /^\/(webhooks|dead-letters|deliveries|replays)/.test(new URL(request.url()).pathname) &&
            request.resourceType() === "fetch" &&
            requests.push(request.url()),
        );
        for (const path of [`/webhooks/${webhook.id}`, `/webhooks/${webhook.id}?attempt=att_1`]) {
          await page.goto(`/dashboard${path}`);
          await page.getByText(`Your role, ${role}, cannot open this page`).waitFor();
          await settled(page);
          assert.ok(!(await page.content()).includes(world.receiver));
          assert.equal(await page.getByRole("main").getByRole("button").count(), 0);
        }
        assert.deepEqual(requests, []);
        await page.getByRole("main").getByRole("link", { name: "Go to the home page" }).click();
        await heading(page, "Orders").waitFor();
      });
      await api("DELETE", `/webhooks/${webhook.id}`);
    });
  }
});
