import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { as, client, heading, launch, logIn, menu, ranks, sections, settled, userOf, visit, visitor, world } from "./world.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

describe("roles", () => {
  for (const role of Object.keys(ranks)) {
    it(`${role} sees what they may`, async () => {
      await as(browser, userOf(role), async (page) => {
        const expected = Object.keys(sections).filter((name) => ranks[role] >= ranks[sections[name][1]]);
        assert.deepEqual(await menu(page).getByRole("link").allInnerTexts(), expected);
        for (const [name, [path]] of Object.entries(sections)) {
          if (expected.includes(name)) {
            await visit(page, name);
            await settled(page);
            assert.equal(await page.getByRole("alert").count(), 0, `${name} fails for ${role}`);
          } else {
            await page.goto(`/dashboard${path}`);
            await heading(page, name).waitFor();
            await page.getByText(`This is not for your role, ${role}`).waitFor();
          }
        }
      });
    });
  }

  it("does not let a wrong password in, and says so", async () => {
    const { context } = await visitor(browser);
    const page = await context.newPage();
    await page.goto("/dashboard/");
    await page.getByLabel("E-mail address").fill(userOf("STAFF").email);
    await page.getByLabel("Password").fill("not the password");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("alert").waitFor();
    assert.equal(await menu(page).count(), 0);
    await context.close();
  });
});

/** Notes how refreshes end, of all pages of a browser. */
function refreshes(context) {
  const statuses = [];
  context.on("response", (response) => response.url().endsWith("/auth/refresh") && statuses.push(response.status()));
  return statuses;
}

describe("the session", () => {
  it("goes on when the access token expires in mid-use", async () => {
    const { context, faults } = await visitor(browser);
    const page = await context.newPage();
    await logIn(page, userOf("OWNER"), world.hasty);
    const statuses = refreshes(context);
    while (statuses.length < 2) {
      for (const name of ["Plan", "Team", "Audit trail"]) await visit(page, name);
      await settled(page);
      assert.equal(await page.getByRole("alert").count(), 0);
    }
    assert.ok(statuses.every((status) => status === 200), String(statuses));
    assert.deepEqual(faults, []);
    await context.close();
  });

  it("is one for two tabs that refresh at once", async () => {
    const { context, faults } = await visitor(browser);
    const tabs = [await context.newPage(), await context.newPage()];
    await logIn(tabs[0], userOf("OWNER"), world.hasty);
    await tabs[1].goto(`${world.hasty}/dashboard/plan`);
    await heading(tabs[1], "Plan").waitFor();
    const statuses = refreshes(context);
    while (statuses.length < 4) {
      for (const name of ["Plan", "Audit trail"]) await Promise.all(tabs.map((tab) => visit(tab, name)));
      for (const tab of tabs) assert.equal(await tab.getByRole("alert").count(), 0);
    }
    assert.ok(statuses.every((status) => status === 200), String(statuses));
    assert.deepEqual(faults, []);
    const ask = await client(userOf("OWNER"));
    assert.deepEqual(await ask("GET", "/audit?action=session.reused"), []);
    await context.close();
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

  it("ends when a stolen cookie is used", async () => {
    const { context, faults } = await visitor(browser);
    const page = await context.newPage();
    await logIn(page, userOf("ADMIN"));
    const stolen = (await context.cookies()).find((cookie) => cookie.name === "refreshToken").value;
    await page.reload(); // a refresh, which supersedes what was stolen
    await menu(page).waitFor();
    const thief = await fetch(`${world.api}/auth/refresh`, { method: "POST", headers: { Cookie: `refreshToken=${stolen}` } });
    assert.equal(thief.status, 401);
    // Whatever asks next learns of it: what this click shows or, sooner, the board by itself.
    await menu(page).getByRole("link", { name: "Settings" }).click({ timeout: 3000 }).catch(() => {});
    await page.getByRole("button", { name: "Log in" }).waitFor();
    assert.deepEqual(faults, []);
    const ask = await client(userOf("OWNER"));
    assert.equal((await ask("GET", "/audit?action=session.reused")).length, 1);
    await context.close();
  });

  it("outlives the server", async () => {
    const { context, faults } = await visitor(browser);
    const page = await context.newPage();
    await logIn(page, userOf("OWNER"));
    await visit(page, "Team");
    await visit(page, "Settings");
    await fetch(`${world.control}/stop`, { method: "POST" });
    await page.getByLabel("Seats").fill("77");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert").getByText("The service cannot be reached").waitFor();
    assert.equal(await page.getByLabel("Seats").inputValue(), "77"); // what was typed is not lost
    const started = await fetch(`${world.control}/start`, { method: "POST" });
    assert.equal(started.status, 200, await started.text());
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The settings are saved").first().waitFor();
    await visit(page, "Team");
    assert.equal(await page.getByRole("alert").count(), 0);
    assert.deepEqual(faults, []);
    await context.close();
  });
});
