import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { as, heading, launch, menu, ranks, sections, userOf, visit, world } from "./world.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

const seen = (role) => Object.keys(sections).filter((name) => ranks[role] >= ranks[sections[name][1]]);

describe("the team", () => {
  it("grows by an invitation, changes roles, and loses a member", async () => {
    const joining = { email: "dorothy@example.com", password: "dorothy's own password" };
    await as(browser, userOf("OWNER"), async (page) => {
      await visit(page, "Team");
      await page.getByRole("button", { name: "Invite somebody" }).first().click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("E-mail address").fill(joining.email);
      await dialog.getByLabel("Name", { exact: true }).fill("Dorothy Vaughan");
      await dialog.getByRole("button", { name: "Invite" }).click();
      const link = (await dialog.getByText(/accept-invite#/).first().innerText()).trim();
      await dialog.getByRole("button", { name: "Done" }).click();

      await as(browser, null, async (guest) => {
        await guest.goto(link);
        await guest.getByLabel("Password").fill(joining.password);
        await guest.getByRole("button", { name: "Accept and log in" }).click();
        await menu(guest).waitFor();
        assert.deepEqual(await menu(guest).getByRole("link").allInnerTexts(), seen("STAFF"));
        assert.ok(!guest.url().includes("#"), "the token stays in the address");

        await page.reload();
        const row = page.getByRole("row", { name: /Dorothy Vaughan/ });
        await row.getByLabel("Role of Dorothy Vaughan").selectOption({ value: "MANAGER" });
        await page.getByText("Dorothy Vaughan is MANAGER now").first().waitFor();
        await guest.reload();
        await menu(guest).getByRole("link", { name: "Customers" }).waitFor();
        assert.deepEqual(await menu(guest).getByRole("link").allInnerTexts(), seen("MANAGER"));

        await row.getByRole("button", { name: "Remove" }).click();
        await dialog.getByRole("button", { name: "Remove" }).click();
        await row.waitFor({ state: "detached" });
        await guest.reload();
        await guest.getByRole("button", { name: "Log in" }).waitFor();
      });
    });
    await as(browser, null, async (guest) => {
      await guest.goto("/dashboard/accept-invite");
      await guest.getByText("The link is not complete").waitFor();
      await guest.goto("/dashboard/accept-invite#0123456789abcdef");
      await guest.reload();
      await guest.getByLabel("Password").fill(joining.password);
      await guest.getByRole("button", { name: "Accept and log in" }).click();
      await guest.getByText("This invitation was used already").waitFor();
    });
  });

  it("never loses its last owner", async () => {
    const owner = world.users.find((user) => user.role === "OWNER" && user.storeIds.includes(world.busy.storeId));
    await as(browser, owner, async (page) => {
      await visit(page, "Team");
      await page.getByLabel("Role of Kai Owner").selectOption({ value: "STAFF" });
      const sure = page.getByRole("button", { name: "Change the role" });
      const refused = page.getByText(/must keep an owner/i).first();
      await sure.or(refused).first().waitFor();
      if (await sure.isVisible()) await sure.click();
      await refused.waitFor();
      await page.reload();
      assert.equal(await page.getByLabel("Role of Kai Owner").inputValue(), "OWNER");
    });
  });
});

describe("an API key", () => {
  it("is shown once, works within its scopes, and is revoked", async () => {
    await as(browser, userOf("OWNER"), async (page) => {
      await visit(page, "API keys");
      await page.getByRole("button", { name: "Create an API key" }).first().click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Name", { exact: true }).fill("Till");
      await dialog.getByRole("checkbox", { name: /read:orders/ }).check();
      await dialog.getByRole("button", { name: "Create" }).click();
      const key = (await dialog.getByText(/^svc_live_sk_/).innerText()).trim();
      const status = async (path) => (await fetch(world.api + path, { headers: { Authorization: `Bearer ${key}` } })).status;
      assert.deepEqual([await status("/orders"), await status("/customers")], [200, 403]);
      await dialog.getByRole("button", { name: "Done" }).click();
      const row = page.getByRole("row", { name: /^Till/ });
      await row.waitFor();
      assert.ok(!(await page.content()).includes(key), "the key is still on the page");
      await row.getByRole("button", { name: "Revoke" }).click();
      await dialog.getByRole("button", { name: "Revoke" }).click();
      await row.getByText("revoked").waitFor();
      assert.equal(await status("/orders"), 401);
    });
  });
});

describe("a store", () => {
  it("is switched for all that is shown, in every tab", async () => {
    await as(browser, userOf("OWNER"), async (page, context) => {
      const [berlin, zurich] = world.stores;
      const other = await context.newPage();
      await other.goto("/dashboard/settings");
      await heading(other, "Settings").waitFor();
      await visit(page, "Products");
      await page.getByText("Pizza Margherita", { exact: true }).waitFor();
      await page.getByLabel("Store", { exact: true }).selectOption({ label: zurich.storeName });
      await page.getByText("The menu is empty").waitFor();
      await page.getByText("with its prices in CHF").waitFor();
      await other.getByText(`What ${zurich.storeName} decides about itself`).waitFor();
      await page.getByLabel("View").selectOption({ label: "fr-CH · EUR" });
      await page.getByText("with its prices in EUR").waitFor();
      await page.getByLabel("Store", { exact: true }).selectOption({ label: berlin.storeName });
      await page.getByText("Pizza Margherita", { exact: true }).waitFor();
    });
  });
});
