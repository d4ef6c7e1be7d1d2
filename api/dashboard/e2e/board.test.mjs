import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { accessible, as, client, heading, home, launch, menu, till, until, userOf, visit, world } from "./world.mjs";

let browser, api, place, complete;
before(async () => {
  browser = await launch();
  ({ api, place, complete } = await till());
});
after(() => browser.close());

/** Does work for all entries, ten at a time, and returns the results. */
async function inBatches(entries, work) {
  const results = [];
  for (let i = 0; i < entries.length; i += 10) results.push(...(await Promise.all(entries.slice(i, i + 10).map(work))));
  return results;
}

const column = (page, name) => page.getByRole("region", { name, exact: true });
const card = (page, order) => page.getByRole("article", { name: `Order ${order.orderId}`, exact: true });

/** Opens the board and waits until it is live. */
async function openBoard(page) {
  await visit(page, "Orders");
  await page.getByText("Live updates").waitFor();
}

describe("the board", () => {
  it("reads single orders when something changes", async () => {
    const order = await place("Ada");
    await as(browser, userOf("STAFF"), async (page) => {
      const caughtUp = page.waitForResponse(/\/orders\?updatedSince=/);
      await openBoard(page);
      await card(page, order).waitFor();
      await (await caughtUp).finished();
      const requests = [];
      page.on("request", (request) => requests.push(new URL(request.url())));
      await api("PATCH", `/orders/${order.id}/status`, { status: "PREPARING" });
      await column(page, "Preparing")
        .getByRole("article", { name: `Order ${order.orderId}` })
        .waitFor();
      const next = await place("Grace");
      await card(page, next).waitFor();
      assert.deepEqual(
        requests.filter(({ pathname }) => pathname === "/orders"),
        [],
      );
      await complete(order);
      await card(page, order).waitFor({ state: "detached" });
      await complete(next);
    });
  });

  it("ticks the lines of an order on every screen, until there is more to prepare", async () => {
    const order = await place("Ada");
    const line = (page) => card(page, order).getByRole("button", { name: /^2×/ });
    const isTicked = (page, wanted) =>
      until(`the line is ticked: ${wanted}`, async () => (await line(page).getAttribute("aria-pressed")) === wanted);
    await as(browser, userOf("STAFF"), (page) =>
      as(browser, userOf("MANAGER"), async (other) => {
        await openBoard(page);
        await openBoard(other);
        await line(page).click();
        await isTicked(other, "true");
        await line(other).click();
        await isTicked(page, "false");
        await line(page).click();
        await isTicked(other, "true");
        await accessible(page, "a ticked line");
        const read = await api("GET", `/orders/${order.id}`);
        assert.deepEqual([read.version, typeof read.items[0].doneAt], [1, "string"]);
        await api("PUT", `/orders/${order.id}/items/${order.items[0].id}/done`, { done: false });
        await isTicked(page, "false");
      }),
    );
    await complete(order);
  });

  it("shows all open orders, oldest first, with true counts", async () => {
    const [{ storeId }] = world.stores;
    const now = Date.now();
    const before = (await api("GET", "/orders?status=RECEIVED&limit=100")).filter(
      ({ dueAt }) => dueAt === null || Date.parse(dueAt) <= now, // the board shows others as scheduled
    );
    const [oldest, ...others] = Array.from({ length: 110 }, (_, i) => `Guest ${i}`);
    const orders = [await place(oldest), ...(await inBatches(others, (name) => place(name)))];
    await as(browser, userOf("STAFF"), async (page) => {
      await openBoard(page);
      const received = column(page, "Received");
      const wanted = String(before.length + orders.length);
      await received.getByRole("heading", { name: `Received ${wanted}` }).waitFor();
      if (before.length === 0) {
        assert.equal(
          await received.getByRole("article").first().getAttribute("aria-label"),
          `Order ${orders[0].orderId}`,
        );
      }
      const more = received.getByRole("button", { name: /^Show \d+ more$/ });
      while (await more.count()) await more.click();
      assert.equal(await received.getByRole("article").count(), Number(wanted), storeId);
      await card(page, orders[0]).waitFor();
      await card(page, orders.at(-1)).waitFor();
    });
    await inBatches(orders, complete);
  });

  it("undoes a step within five seconds, and sends it when the page is left", async () => {
    const order = await place("Ada");
    await as(browser, userOf("STAFF"), async (page) => {
      await openBoard(page);
      await card(page, order)
        .getByRole("button", { name: `Confirm order ${order.orderId}` })
        .click();
      const moved = column(page, "Confirmed").getByRole("article", { name: `Order ${order.orderId}` });
      await moved.waitFor();
      await page.getByRole("button", { name: `Undo: confirm order ${order.orderId}` }).click();
      await page.getByText(`“Confirm” undone: order ${order.orderId} is Received again`).first().waitFor();
      await column(page, "Received")
        .getByRole("article", { name: `Order ${order.orderId}` })
        .waitFor();
      assert.equal((await api("GET", `/orders/${order.id}`)).status, "RECEIVED");

      await card(page, order)
        .getByRole("button", { name: `Confirm order ${order.orderId}` })
        .click();
      await moved.waitFor();
      await page.reload();
      await until("the step is sent", async () => (await api("GET", `/orders/${order.id}`)).status === "CONFIRMED");
    });
    await complete(order);
  });

  it("undoes two steps of an order one by one, and drops a step that another user has overtaken", async () => {
    const order = await place("Ada");
    await as(browser, userOf("STAFF"), async (page) => {
      // Only a slow click would be too late to undo: the undo time starts again with each step.
      await openBoard(page);
      const step = (name) => card(page, order).getByRole("button", { name: `${name} order ${order.orderId}` });
      await step("Confirm").click();
      await step("Start preparing").click();
      await page.getByText(`Order ${order.orderId}: Received → Confirmed → Preparing.`).waitFor();
      await page.getByRole("button", { name: `Undo: start preparing order ${order.orderId}` }).click();
      await column(page, "Confirmed")
        .getByRole("article", { name: `Order ${order.orderId}` })
        .waitFor();
      await api("PATCH", `/orders/${order.id}/status`, { status: "READY" });
      await column(page, "Ready")
        .getByRole("article", { name: `Order ${order.orderId}` })
        .waitFor();
      await page
        .getByText(/was set to “Ready” by someone else|was not changed/)
        .first()
        .waitFor();
    });
    await complete(order);
  });

  it("takes back a step that the API refuses, and says why", async () => {
    const order = await place("Ada");
    await as(browser, userOf("STAFF"), async (page) => {
      await openBoard(page);
      let refuse;
      const shown = new Promise((resolve) => {
        refuse = resolve;
      });
      await page.route(`**/orders/${order.id}/status`, async (route) => {
        await shown;
        await route.fulfill({
          status: 503,
          json: { success: false, error: { code: "SERVICE_UNAVAILABLE", message: "The database does not respond." } },
        });
      });
      await card(page, order)
        .getByRole("button", { name: `Confirm order ${order.orderId}` })
        .click();
      await column(page, "Confirmed")
        .getByRole("article", { name: `Order ${order.orderId}` })
        .waitFor();
      refuse();
      await page
        .getByText(`Order ${order.orderId} was not changed. The service could not process the request.`)
        .first()
        .waitFor();
      await column(page, "Received")
        .getByRole("article", { name: `Order ${order.orderId}` })
        .waitFor();
    });
    await complete(order);
  });

  it("sends a step before the user logs out", async () => {
    const order = await place("Ada");
    await as(browser, userOf("STAFF"), async (page) => {
      await openBoard(page);
      await card(page, order)
        .getByRole("button", { name: `Confirm order ${order.orderId}` })
        .click();
      await page.getByRole("button", { name: "Log out" }).click();
      await page.getByRole("button", { name: "Log in" }).waitFor();
      assert.equal((await api("GET", `/orders/${order.id}`)).status, "CONFIRMED");
    });
    await complete(order);
  });

  it("keeps the focus on the board after each step", async () => {
    const orders = [await place("Ada"), await place("Grace")];
    await as(browser, userOf("STAFF"), async (page) => {
      await openBoard(page);
      for (const order of orders) {
        const step = card(page, order).getByRole("button", { name: `Confirm order ${order.orderId}` });
        await step.focus();
        await page.keyboard.press("Enter");
        await column(page, "Confirmed")
          .getByRole("article", { name: `Order ${order.orderId}` })
          .waitFor();
        const focused = await page.evaluate(() => document.activeElement.closest("section")?.ariaLabel);
        assert.equal(focused, "Received");
      }
    });
    for (const order of orders) await complete(order);
  });

  it("asks before an unpaid order is completed", async () => {
    const order = await place("Ada");
    await api("PATCH", `/orders/${order.id}/status`, { status: "READY" });
    await as(browser, userOf("STAFF"), async (page) => {
      await openBoard(page);
      await card(page, order)
        .getByRole("button", { name: `Complete order ${order.orderId}` })
        .click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText(/is not recorded as paid/).waitFor();
      await dialog.getByRole("button", { name: "Keep open" }).click();
      await card(page, order)
        .getByRole("button", { name: `Complete order ${order.orderId}` })
        .click();
      await dialog.getByRole("button", { name: "Complete without payment" }).click();
      await page.getByRole("button", { name: "Send now" }).click();
      await until(
        "the order is completed",
        async () => (await api("GET", `/orders/${order.id}`)).status === "COMPLETED",
      );
    });
  });

  it("says that the browser is offline, and takes no step", async () => {
    const order = await place("Ada");
    await as(browser, userOf("STAFF"), async (page, context) => {
      await openBoard(page);
      await card(page, order).waitFor();
      await context.setOffline(true);
      await page.getByText("No connection.", { exact: true }).waitFor();
      await page.getByText("No updates").waitFor();
      assert.equal(await page.getByText("Live updates").count(), 0);
      await card(page, order)
        .getByRole("button", { name: `Confirm order ${order.orderId}` })
        .click();
      await page.getByText(`No connection. Order ${order.orderId} was not changed.`).first().waitFor();
      await column(page, "Received")
        .getByRole("article", { name: `Order ${order.orderId}` })
        .waitFor();
      await context.setOffline(false);
      await page.getByText("No connection.", { exact: true }).waitFor({ state: "detached" });
      await page.getByText("Live updates").waitFor();
      assert.equal((await api("GET", `/orders/${order.id}`)).status, "RECEIVED");
    });
    await complete(order);
  });
});

describe("an order on its way to the till", () => {
  it("shows the webhooks that took it, and those that did not, while it happens", async () => {
    const admin = await client(userOf("ADMIN"));
    const secret = "a secret of at least thirty-two characters";
    const connect = async (description, status) => {
      const url = `${world.receiver}/${status}`;
      return admin("POST", "/webhooks", { url, events: ["order.created"], secret, description });
    };
    const [till, shop] = [await connect("Till of the board", 204), await connect("Shop of the board", 503)];
    const order = await place("Ada");
    await as(browser, userOf("STAFF"), async (page) => {
      await openBoard(page);
      await until("the shop has refused the event", async () => {
        const deliveries = await api("GET", `/orders/${order.id}/deliveries`);
        return deliveries.some(({ status }) => status === "dead_letter");
      });
      const mark = card(page, order).locator("[data-deliveries=failed]");
      // Marks of cards that were not seen are not read. Cards above get their heights while they come into view, and
      // can move this one out of it again.
      await until("the mark of the failed delivery", async () => {
        await card(page, order).scrollIntoViewIfNeeded();
        return mark.isVisible();
      });
      assert.match(await mark.innerText(), /Did not reach .*Shop of the board/);
      await accessible(page, "the board with marks");
      await card(page, order)
        .getByRole("link", { name: `#${order.orderId}` })
        .click();
      const systems = page.getByRole("list", { name: "Connected systems" });
      const row = (name) => systems.locator("> li").filter({ hasText: name });
      await row("Till of the board")
        .getByText(/^Delivered/)
        .waitFor();
      await row("Shop of the board")
        .getByText(/^Not delivered after 2 attempts/)
        .waitFor();
      await admin("PATCH", `/webhooks/${shop.id}`, { url: `${world.receiver}/204` });
      await admin("POST", `/webhooks/${shop.id}/replay`, { from: order.createdAt });
      await row("Shop of the board")
        .getByText(/^Delivered/)
        .waitFor(); // without a reload
    });
    for (const { id } of [till, shop]) await admin("DELETE", `/webhooks/${id}`);
    await complete(order);
  });

  it("keeps its button in place when the mark of the webhooks appears", async () => {
    const admin = await client(userOf("ADMIN"));
    const { id } = await admin("POST", "/webhooks", {
      url: `${world.receiver}/204`,
      events: ["order.created"],
      secret: "a secret of at least thirty-two characters",
    });
    await as(browser, userOf("STAFF"), async (page) => {
      let read;
      const pressed = new Promise((resolve) => void (read = resolve));
      await page.route(/\/orders\/[^/]+\/deliveries/, async (route) => {
        await pressed;
        await route.continue();
      });
      await openBoard(page);
      const order = await place("Ada");
      await card(page, order)
        .getByRole("button", { name: `Confirm order ${order.orderId}` })
        .hover();
      await page.mouse.down();
      read();
      await card(page, order).locator("[data-deliveries]").waitFor();
      await page.mouse.up();
      await page.getByRole("button", { name: `Undo: confirm order ${order.orderId}` }).waitFor();
      await page.getByRole("button", { name: "Send now" }).click();
      await until("the order is confirmed", async () => {
        return (await api("GET", `/orders/${order.id}`)).status === "CONFIRMED";
      });
      await complete(order);
    });
    await admin("DELETE", `/webhooks/${id}`);
  });
});

describe("an order number", () => {
  it("opens the order from every page, and other words find orders", async () => {
    const order = await place("Augusta Ada King");
    await as(browser, userOf("STAFF"), async (page) => {
      await visit(page, "Reservations");
      await page.keyboard.press("/");
      await page.keyboard.type(`#${order.orderId}`);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: `Order ${order.orderId}` }).waitFor();
      await page.getByLabel("Find an order").fill("Augusta");
      await page.keyboard.press("Enter");
      await heading(page, "Orders").waitFor();
      await page.getByRole("link", { name: `#${order.orderId}` }).waitFor();
      assert.equal(await page.getByLabel("Number, name, email or phone").inputValue(), "Augusta");
    });
    await complete(order);
  });
});

describe("a refusal of the API", () => {
  it("names times in the time zone of the store, and no members", async () => {
    await as(browser, userOf("STAFF"), async (page) => {
      await home(page);
      await page.route("**/reservations?**", (route) =>
        route.fulfill({
          status: 422,
          json: {
            success: false,
            error: {
              code: "VALIDATION_FAILED",
              message: "startAt must be after 2026-03-14T12:00:00.000Z",
              details: [{ path: "startAt", message: "must be after 2026-03-14T12:00:00.000Z" }],
            },
          },
        }),
      );
      await menu(page).getByRole("link", { name: "Reservations" }).click();
      const alert = page.getByRole("alert");
      await alert.getByText(/^The time must be after Mar 14, 2026, \d+:00/).waitFor();
      assert.doesNotMatch(await alert.innerText(), /startAt|T12:00/);
    });
  });
});

describe("the promised time", () => {
  it("is changed when the order is confirmed", async () => {
    const [first, second] = [await place("Ada"), await place("Grace")];
    await as(browser, userOf("STAFF"), async (page) => {
      await openBoard(page);
      await card(page, first)
        .getByRole("button", { name: `Confirm with another time: order ${first.orderId}`, exact: true })
        .click();
      const before = Date.now();
      await page.getByRole("menuitem", { name: /\+45 min$/ }).click();
      await page.getByRole("button", { name: "Send now" }).click();
      const changed = await until("the order is confirmed", async () => {
        const now = await api("GET", `/orders/${first.id}`);
        return now.status === "CONFIRMED" && now;
      });
      const minutes = (Date.parse(changed.promisedAt) - before) / 60_000;
      assert.ok(minutes > 44 && minutes < 47, `promised in ${minutes} minutes`);
      await column(page, "Confirmed")
        .getByRole("article", { name: `Order ${first.orderId}` })
        .getByText(/^Ready at/)
        .waitFor();

      await page.goto(`/dashboard/orders/${second.id}`);
      await page.getByRole("button", { name: "Confirm for…" }).click();
      await page.getByRole("menuitem", { name: "Other time…" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Day").fill("2020-01-01");
      await dialog.getByRole("button", { name: "Confirm" }).click();
      await dialog.getByText("Choose a time in the future.").waitFor();
      const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
      await dialog.getByLabel("Day").fill(tomorrow);
      await dialog.getByLabel("Ready at").fill("12:34");
      await dialog.getByRole("button", { name: "Confirm" }).click();
      await page.getByRole("heading", { level: 1, name: `Order ${second.orderId} Confirmed` }).waitFor();
      assert.match((await api("GET", `/orders/${second.id}`)).promisedAt, new RegExp(`^${tomorrow}T\\d\\d:34`));
    });
    for (const order of [first, second]) await complete(order);
  });
});

describe("a change without a connection", () => {
  it("fails immediately and is not sent when the connection returns", async () => {
    const order = await place("Ada");
    await as(browser, userOf("STAFF"), async (page, context) => {
      await page.goto(`/dashboard/orders/${order.id}`);
      const confirm = page.getByRole("button", { name: `Confirm order ${order.orderId}` });
      await confirm.waitFor();
      await context.setOffline(true);
      await confirm.click();
      await page
        .getByText(/cannot be reached/)
        .first()
        .waitFor();
      await context.setOffline(false);
      await page.getByText("No connection.", { exact: true }).waitFor({ state: "detached" });
      assert.equal((await api("GET", `/orders/${order.id}`)).status, "RECEIVED");
    });
    await complete(order);
  });
});

describe("too many requests", () => {
  const tooMany = {
    status: 429,
    headers: { "Retry-After": "1" },
    json: { success: false, error: { code: "RATE_LIMITED", message: "too many requests" } },
  };

  it("at a reload are explained, and the page continues without a click", async () => {
    await as(browser, userOf("STAFF"), async (page) => {
      let limited = true;
      await page.route("**/auth/refresh", (route) => (limited ? route.fulfill(tooMany) : route.continue()));
      await page.goto("/dashboard/");
      await page.getByRole("heading", { name: "Too many requests" }).waitFor();
      limited = false;
      await heading(page, "Orders").waitFor();
    });
  });

  it("of a query are repeated after the time that the service demands", async () => {
    await as(browser, userOf("STAFF"), async (page) => {
      let limited = true;
      await page.route("**/reservations?**", (route) => (limited ? route.fulfill(tooMany) : route.continue()));
      await visit(page, "Reservations");
      await page.getByText("Too many requests. This page continues in 1 seconds.").waitFor();
      limited = false;
      await page.getByText("Too many requests.").waitFor({ state: "detached" });
      assert.equal(await page.getByRole("alert").count(), 0);
    });
  });

  it("are avoided by tabs that share the access token", async () => {
    await as(browser, userOf("STAFF"), async (page, context) => {
      await home(page);
      let refreshes = 0;
      context.on("request", (request) => request.url().endsWith("/auth/refresh") && refreshes++);
      const other = await context.newPage();
      await other.goto("/dashboard/orders");
      await heading(other, "Orders").waitFor();
      await page.reload();
      await heading(page, "Orders").waitFor();
      assert.equal(refreshes, 0);
    });
  });
});

describe("a search", () => {
  it("starts although the page renders all the time", async () => {
    await as(browser, userOf("STAFF"), async (page) => {
      await page.goto("/dashboard/orders?view=all");
      await heading(page, "Orders").waitFor();
      await page.getByText("Live updates").waitFor();
      let busy = true;
      const orders = [];
      const flood = (async () => {
        while (busy) orders.push(await place("Flood"));
      })();
      try {
        await page.getByLabel("Number, name, email or phone").fill("nobody at all");
        await page.waitForURL(/q=nobody/);
      } finally {
        busy = false;
        await flood;
      }
      for (const order of orders) await complete(order);
    });
  });
});

describe("the form for a new order", () => {
  it("adds the first product that the search finds when Enter is pressed", async () => {
    await as(browser, userOf("STAFF"), async (page) => {
      await page.goto("/dashboard/orders/new");
      await heading(page, "New order").waitFor();
      await page.getByRole("button", { name: /^Pizza Margherita/ }).click();
      await page.getByLabel("Name", { exact: true }).fill("Ada");
      await page.getByText("Total", { exact: true }).waitFor();
      await page.getByLabel("Search the menu").fill("penne");
      await page.keyboard.press("Enter");
      await page.getByLabel("Quantity of Penne Arrabbiata").waitFor();
      assert.ok(page.url().endsWith("/orders/new"), page.url());
    });
  });
});
