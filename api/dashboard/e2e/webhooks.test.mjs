import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { accessible, as, client, heading, launch, settled, until, userOf, visit, world } from "./world.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

const attempts = (page) => page.getByRole("region", { name: "Attempts" });

describe("a webhook", () => {
  const [, zurich] = world.stores; // which has none yet
  let ask, product, path;

  before(async () => {
    ask = await client(userOf("OWNER"), zurich.storeId);
    product = await ask("POST", "/products", { name: "Rösti", priceMinor: 1800, currency: "CHF" });
  });

  const order = () => ask("POST", "/orders", { items: [{ productId: product.id, quantity: 1 }], fulfillmentType: "PICKUP", customer: { name: "Ada Lovelace" } });

  /** Orders, and waits until what a receiver was told of it has ended in that status. */
  const told = async (status, count = 1) => {
    const placed = new Set((await Promise.all(Array.from({ length: count }, order))).map((one) => one.id));
    assert.equal(placed.size, count);
    return until(`${count} deliveries are ${status}`, async () => {
      const found = await ask("GET", `/deliveries?status=${status}&limit=${count}`);
      return found.length === count && found;
    });
  };

  /** An owner's page in that store. */
  const inZurich = (work, options) =>
    as(
      browser,
      userOf("OWNER"),
      async (page) => {
        await page.getByLabel("Store", { exact: true }).selectOption({ label: zurich.storeName });
        await page.locator("select[aria-label=Store]:not([disabled])").waitFor();
        await work(page);
      },
      options,
    );

  const change = async (page, url) => {
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByRole("dialog").getByLabel("URL").fill(url);
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await heading(page, url).waitFor();
  };

  it("is created in a store that had none, tested, and told of what happens", async () => {
    await inZurich(async (page) => {
      await visit(page, "Webhooks");
      await page.getByText("Your first webhook in one minute").waitFor();
      await page.getByRole("button", { name: "Create a webhook" }).last().click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("URL").fill("http://example.com");
      await dialog.getByRole("button", { name: "All", exact: true }).click();
      await dialog.getByText("14 of 14 chosen").waitFor();
      await dialog.getByRole("button", { name: "None", exact: true }).click();
      assert.equal(await dialog.getByRole("button", { name: "Create" }).isDisabled(), true);
      await dialog.getByRole("checkbox", { name: /^order\.created/ }).check();
      await dialog.getByRole("button", { name: "Create" }).click();
      assert.equal(await dialog.getByLabel("URL").evaluate((input) => input.validity.patternMismatch), true);
      await accessible(page, "creating a webhook");
      await dialog.getByLabel("URL").fill(`${world.receiver}/204`);
      await dialog.getByRole("button", { name: "Create" }).click();
      const secret = await dialog.getByTestId("secret").innerText();
      assert.ok(secret.trim().length >= 32);
      await dialog.getByRole("button", { name: "Send a test" }).click();
      await dialog.getByText("The test arrived: your server answered 204").waitFor();
      await dialog.getByRole("button", { name: "Open its page" }).click();
      await heading(page, `${world.receiver}/204`).waitFor();
      path = new URL(page.url()).pathname;
      assert.ok(!(await page.content()).includes(secret), "the secret is still on the page");

      await attempts(page).getByRole("row", { name: /test\.ping delivered 204/ }).getByRole("button").click();
      await dialog.getByLabel("Body of the request").getByText('"type": "test.ping"').waitFor();
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });

      await order(); // of which the page hears by itself
      await attempts(page).getByRole("row", { name: /order\.created delivered 204/ }).waitFor();
    });
  });

  it("delivers once more by keyboard alone, and the sheet closes as it always does", async () => {
    await told("delivered");
    await inZurich(async (page) => {
      await page.goto(path);
      const opener = await attempts(page).getByRole("row", { name: /order\.created/ }).getByRole("button").first().elementHandle();
      await opener.focus();
      await page.keyboard.press("Enter");
      const sheet = page.getByRole("dialog");
      const again = sheet.getByRole("button", { name: "Deliver once more" });
      await again.focus();
      await page.keyboard.press("Enter");
      await page.getByText("It is delivered once more").first().waitFor();
      await sheet.getByText("2 attempts so far").waitFor();
      assert.equal(await sheet.evaluate((dialog) => dialog.contains(document.activeElement)), true, "the focus has left the sheet");
      await page.keyboard.press("Tab");
      assert.equal(await sheet.evaluate((dialog) => dialog.contains(document.activeElement)), true, "the focus leaves the sheet");
      await page.keyboard.press("Escape");
      await sheet.waitFor({ state: "detached" });
      assert.equal(await opener.evaluate((button) => button === document.activeElement), true, "the focus is not where it was");
      assert.ok(!page.url().includes("attempt="));
    });
  });

  it("fails, and what it has missed is replayed from the dead letters", async () => {
    await inZurich(async (page) => {
      await page.goto(path);
      await change(page, `${world.receiver}/503`);
      await told("dead_letter", 3);
      await page.reload();
      await page.getByRole("alert").getByText("The receiver has been failing since").waitFor();
      await visit(page, "Dead letters");
      await page.getByRole("region", { name: "Dead letters by receiver and reason" }).getByText("/503").waitFor();
      await page.goto(path);
      await change(page, `${world.receiver}/204`);

      await visit(page, "Dead letters");
      const letters = page.getByRole("region", { name: "Dead letters", exact: true });
      await letters.getByRole("button", { name: /^Replay order\.created/ }).first().click();
      await until("one dead letter less", async () => (await letters.locator("tbody tr").count()) === 2);

      await page.getByRole("button", { name: "Replay…" }).first().click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("2 deliveries would be made once more.").waitFor();
      await dialog.getByLabel("Event").selectOption("payment.failed");
      await dialog.getByText("No delivery is like that.").waitFor();
      assert.equal(await dialog.getByRole("button", { name: "Replay", exact: true }).isDisabled(), true);
      await dialog.getByLabel("Event").selectOption({ label: "Any" });
      await accessible(page, "ordering a bulk replay");
      await dialog.getByRole("button", { name: "Replay 2" }).click();
      await dialog.getByText("completed").waitFor();
      await dialog.getByText("2 of 2 queued").waitFor();
      await dialog.getByRole("button", { name: "Done" }).click();
      await page.getByText("No dead letters").waitFor();
      await page.goto(path);
      await page.getByText("no failures").first().waitFor();
      assert.equal(await page.getByRole("alert").count(), 0);
    });
  });

  it("gets a new secret, pauses, goes on, and is deleted", async () => {
    await inZurich(async (page) => {
      await page.goto(path);
      const dialog = page.getByRole("dialog");
      await page.getByRole("button", { name: "Rotate the secret" }).click();
      await dialog.getByLabel("Sign with the old secret as well for").selectOption({ label: "1 hour" });
      await dialog.getByRole("button", { name: "Rotate" }).click();
      await dialog.getByText("The secret is new").waitFor();
      await dialog.getByRole("button", { name: "Done" }).click();
      await page.getByText("signs as well until").waitFor();
      await page.getByRole("button", { name: "Switch off" }).click();
      await dialog.getByRole("button", { name: "Switch off" }).click();
      await page.getByRole("alert").getByRole("button", { name: "Switch on" }).click();
      await page.getByText("The webhook is switched on").first().waitFor();
      await page.getByRole("button", { name: "Delete" }).click();
      await dialog.getByRole("button", { name: "Delete" }).click();
      await page.getByText("Your first webhook in one minute").waitFor();
      await page.goto(path);
      await page.getByText("There is no such webhook in this store").waitFor();
    });
  });
});

describe("a webhook with 10,000 attempts", () => {
  const { busy } = world;
  const owner = world.users.find((user) => user.role === "OWNER" && user.storeIds.includes(busy.storeId));
  const path = `/dashboard/webhooks/${busy.webhookId}`;
  const pages = Math.ceil(busy.attempts / 20);
  const count = (n) => n.toLocaleString("en");

  it("shows any page of them, and little of them at a time", async () => {
    await as(browser, owner, async (page) => {
      const range = (text) => page.getByRole("navigation", { name: "Pages of attempts" }).getByText(text, { exact: true }).waitFor();
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
      assert.notEqual(await rows().first().innerText(), newest);
      const older = page.getByRole("button", { name: "Older" });
      assert.equal(await older.isDisabled(), true);
      await page.reload();
      await range(`${count(busy.attempts - 19)}–${count(busy.attempts)} of ${count(busy.attempts)}`);
      await page.getByRole("button", { name: "Newer" }).click();
      await range(`${count(busy.attempts - 39)}–${count(busy.attempts - 20)} of ${count(busy.attempts)}`);
      await page.goBack();
      await page.goBack();
      await range(`1–20 of ${count(busy.attempts)}`);

      for (let n = 0; n < 10; n++) await older.click(); // without waiting for what is on them
      await range(`201–220 of ${count(busy.attempts)}`);
      await until("the eleventh page is shown", async () => (await rows().first().innerText()) !== newest);
      await small();

      await page.goto(`${path}?page=${pages + 1}`);
      await range(`There is no page ${pages + 1}`);
      await page.getByRole("button", { name: "Newer" }).click();
      await range(`${count(busy.attempts - 19)}–${count(busy.attempts)} of ${count(busy.attempts)}`);
    });
  });

  it("narrows them by outcome, event and id", async () => {
    await as(browser, owner, async (page) => {
      const range = (text) => page.getByRole("navigation", { name: "Pages of attempts" }).getByText(text, { exact: true }).waitFor();
      const card = page.locator("section", { has: page.getByRole("heading", { name: "Attempts" }) });
      await page.goto(`${path}?page=77`);
      await range(`1,521–1,540 of ${count(busy.attempts)}`);
      await card.getByLabel("Outcome").selectOption({ label: "Failed" });
      await range(`1–20 of ${count(busy.failed)}`);
      await card.getByLabel("Event", { exact: true }).selectOption("order.created");
      await range(`1–20 of ${count(busy.failed)}`); // every ninth, which are all of this type
      await card.getByLabel("Event", { exact: true }).selectOption("order.completed");
      await page.getByText("No attempt is like that").waitFor();
      await card.getByRole("button", { name: "Clear" }).click();
      await range(`1–20 of ${count(busy.attempts)}`);
      await card.getByLabel("Event id").fill("evt_000000900");
      await card.getByRole("button", { name: "Find" }).click();
      await range("1–2 of 2");
      await attempts(page).getByRole("button").last().click();
      await page.getByRole("dialog", { name: "Attempt 1 of order.created" }).getByText("HTTP 503").first().waitFor();
      await page.keyboard.press("Escape");
      await card.getByRole("button", { name: "Clear" }).click();
      await range(`1–20 of ${count(busy.attempts)}`);
    });
  });

  it("stops a replay of them half-way", async () => {
    await as(browser, owner, async (page) => {
      await page.goto(path);
      await page.getByRole("button", { name: "Replay…" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Which").selectOption({ value: "delivered" });
      await dialog.getByRole("button", { name: /^Replay 9,000/ }).click();
      // The plan lets only some of them start in this hour: the replay would run for days.
      await dialog.getByText("running").waitFor();
      await dialog.getByText(/^[1-9]\d* of 9,000 queued/).waitFor();
      await dialog.getByRole("button", { name: "Queue no more" }).click();
      await dialog.getByText("cancelled", { exact: true }).waitFor();
      const queued = await dialog.getByText(/ of 9,000 queued/).innerText();
      assert.equal(await dialog.getByRole("button", { name: "Queue no more" }).count(), 0);
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
    it(`are nothing to ${role}, whatever the address`, async () => {
      const ask = await client(userOf("OWNER"));
      const webhook = await ask("POST", "/webhooks", { url: `${world.receiver}/204?${role}`, events: ["order.created"], secret: "a secret that is long enough to be one" });
      await as(browser, userOf(role), async (page) => {
        const asked = [];
        page.on("request", (request) => /\/(webhooks|dead-letters|deliveries|replays)/.test(request.url()) && request.resourceType() === "fetch" && asked.push(request.url()));
        for (const path of ["/webhooks", `/webhooks/${webhook.id}`, `/webhooks/${webhook.id}?attempt=att_1`, "/dead-letters"]) {
          await page.goto(`/dashboard${path}`);
          await page.getByText(`This is not for your role, ${role}`).waitFor();
          await settled(page);
          assert.ok(!(await page.content()).includes(world.receiver));
          assert.equal(await page.getByRole("main").getByRole("button").count(), 0);
        }
        assert.deepEqual(asked, []);
        await page.getByRole("main").getByRole("link", { name: "To the first page" }).click();
        await heading(page, "Orders").waitFor();
      });
      await ask("DELETE", `/webhooks/${webhook.id}`);
    });
  }
});
