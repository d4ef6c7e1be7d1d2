import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import {
  as,
  client,
  heading,
  home,
  launch,
  logIn,
  menu,
  ranks,
  sections,
  settled,
  until,
  userOf,
  visit,
  visitor,
  world,
} from "./world.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

describe("roles", () => {
  for (const role of Object.keys(ranks)) {
    it(`${role} opens only the permitted sections`, async () => {
      await as(browser, userOf(role), async (page) => {
        const requests = [];
        page.on("request", (request) => {
          const { pathname } = new URL(request.url());
          if (/^\/(webhooks|dead-letters)/.test(pathname) && request.resourceType() === "fetch")
            requests.push(pathname);
        });
        await home(page);
        const expected = Object.keys(sections).filter((name) => ranks[role] >= ranks[sections[name][1]]);
        const links = await menu(page).getByRole("link").allInnerTexts();
        const names = links.map((text) => text.split("\n")[0]); // without the number of dead letters
        assert.deepEqual(names, expected);
        for (const [name, [path]] of Object.entries(sections)) {
          if (expected.includes(name)) {
            await visit(page, name);
            await settled(page);
            assert.equal(await page.getByRole("alert").count(), 0, `${name} fails for ${role}`);
          } else {
            await page.goto(`/dashboard${path}`);
            await heading(page, name).waitFor();
            await page
              .getByText(`Your role, ${role[0]}${role.slice(1).toLowerCase()}, cannot open this page`, { exact: true })
              .waitFor();
            await settled(page);
          }
        }
        if (!expected.includes("Webhooks")) assert.deepEqual(requests, []);
      });
    });
  }

  it("a wrong password is rejected with an error message", async () => {
    const { context } = await visitor(browser);
    const page = await context.newPage();
    await page.goto("/dashboard/");
    await page.getByLabel("Email").fill(userOf("STAFF").email);
    await page.getByLabel("Password").fill("not the password");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("alert").waitFor();
    assert.equal(await menu(page).count(), 0);
    await context.close();
  });
});

/** Records the response statuses of all token refreshes in a browser context. */
function refreshes(context) {
  const statuses = [];
  context.on("response", (response) => response.url().endsWith("/auth/refresh") && statuses.push(response.status()));
  return statuses;
}

/** Lets the next request of a page find its access token expired. */
const expire = (page) =>
  page.route(
    (url) => !url.pathname.startsWith("/dashboard") && !url.pathname.startsWith("/auth"),
    (route) => {
      const error = { code: "TOKEN_EXPIRED", message: "the access token has expired; use POST /auth/refresh" };
      return route.fulfill({ status: 401, json: { success: false, error } });
    },
    { times: 1 },
  );

describe("the session", () => {
  it("continues when the access token expires", async () => {
    const { context, faults } = await visitor(browser);
    const page = await context.newPage();
    await logIn(page, userOf("OWNER"), world.hasty);
    const statuses = refreshes(context);
    while (statuses.length === 0) {
      for (const name of ["Plan", "Team", "Audit trail"]) await visit(page, name);
      await settled(page);
      assert.equal(await page.getByRole("alert").count(), 0);
    }
    assert.deepEqual(new Set(statuses), new Set([200]));
    assert.deepEqual(faults, []);
    await context.close();
  });

  it("survives concurrent refreshes in two tabs", async () => {
    await as(browser, userOf("OWNER"), async (page, context) => {
      const tabs = [page, await context.newPage()];
      for (const tab of tabs) await visit(tab, "Team");
      const statuses = refreshes(context);
      // Each page is new, because a tab does not request data again that are only a moment old.
      for (const name of ["Plan", "Audit trail", "API keys"]) {
        const before = statuses.length;
        await Promise.all(tabs.map(expire));
        await Promise.all(tabs.map((tab) => visit(tab, name)));
        await until("a tab has refreshed the token", () => statuses.length > before);
        await Promise.all(tabs.map(settled));
        for (const tab of tabs) assert.equal(await tab.getByRole("alert").count(), 0);
      }
      assert.deepEqual(new Set(statuses), new Set([200]));
      const api = await client(userOf("OWNER"));
      assert.deepEqual(await api("GET", "/audit?action=session.reused"), []);
    });
  });

  it("follows a logout in another tab", async () => {
    const { context, faults } = await visitor(browser);
    const tabs = [await context.newPage(), await context.newPage()];
    await logIn(tabs[0], userOf("MANAGER"));
    await tabs[1].goto("/dashboard/");
    await menu(tabs[1]).waitFor();
    await tabs[0].getByRole("button", { name: "Log out" }).click();
    for (const tab of tabs) await tab.getByRole("button", { name: "Log in" }).waitFor();
    assert.deepEqual(faults, []);
    await context.close();
  });

  it("says when a log-out did not reach the service, and continues", async () => {
    await as(browser, userOf("STAFF"), async (page) => {
      await home(page);
      await page.route("**/auth/logout", (route) => route.abort());
      await page.getByRole("button", { name: "Log out" }).click();
      await page
        .getByText(/^You are still logged in\. The service cannot be reached/)
        .first()
        .waitFor();
      await menu(page).waitFor();
      await page.unroute("**/auth/logout");
      await page.getByRole("button", { name: "Log out" }).click();
      await page.getByRole("button", { name: "Log in" }).waitFor();
    });
  });

  it("ends when a superseded refresh token is used", async () => {
    const { context, faults } = await visitor(browser);
    const page = await context.newPage();
    await logIn(page, userOf("ADMIN"));
    const stolen = (await context.cookies()).find((cookie) => cookie.name === "refreshToken").value;
    await page.reload(); // refreshes the token, which supersedes the stolen one
    await menu(page).waitFor();
    const thief = await fetch(`${world.api}/auth/refresh`, {
      method: "POST",
      headers: { Cookie: `refreshToken=${stolen}` },
    });
    assert.equal(thief.status, 401);
    // The next request fails: that of the clicked page or an earlier one of the order board.
    await menu(page)
      .getByRole("link", { name: "Settings" })
      .click({ timeout: 3000 })
      .catch(() => {});
    await page.getByRole("button", { name: "Log in" }).waitFor();
    assert.deepEqual(faults, []);
    const api = await client(userOf("OWNER"));
    assert.equal((await api("GET", "/audit?action=session.reused")).length, 1);
    await context.close();
  });

  it("survives a restart of the server", async () => {
    const { context, faults } = await visitor(browser);
    const page = await context.newPage();
    await logIn(page, userOf("OWNER"));
    await visit(page, "Team");
    await visit(page, "Settings");
    await page.getByLabel("Seats").waitFor();
    await fetch(`${world.control}/stop`, { method: "POST" });
    await page.getByLabel("Seats").fill("77");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert").getByText("The service cannot be reached").waitFor();
    assert.equal(await page.getByLabel("Seats").inputValue(), "77"); // the input is kept
    const started = await fetch(`${world.control}/start`, { method: "POST" });
    assert.equal(started.status, 200, await started.text());
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Settings saved").first().waitFor();
    await visit(page, "Team");
    assert.equal(await page.getByRole("alert").count(), 0);
    assert.deepEqual(faults, []);
    await context.close();
  });
});
