import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { as, choose, client, heading, launch, menu, ranks, sections, userOf, visit, world } from "./world.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

const sectionsOf = (role) => Object.keys(sections).filter((name) => ranks[role] >= ranks[sections[name][1]]);

describe("the team", () => {
  it("invites a user, changes the role and removes the user", async () => {
    const joining = { email: "dorothy@example.com", password: "dorothy's own password" };
    await as(browser, userOf("OWNER"), async (page) => {
      await visit(page, "Team");
      await page.getByRole("button", { name: "Invite user" }).first().click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Email").fill(joining.email);
      await dialog.getByLabel("Name", { exact: true }).fill("Dorothy Vaughan");
      await dialog.getByRole("button", { name: "Invite" }).click();
      const link = (
        await dialog
          .getByText(/accept-invite#/)
          .first()
          .innerText()
      ).trim();
      await dialog.getByRole("button", { name: "Done" }).click();

      await as(browser, null, async (guest) => {
        await guest.goto(link);
        await guest.getByLabel("Password").fill(joining.password);
        await guest.getByRole("button", { name: "Accept invitation" }).click();
        await menu(guest).waitFor();
        assert.deepEqual(await menu(guest).getByRole("link").allInnerTexts(), sectionsOf("STAFF"));
        assert.ok(!guest.url().includes("#"), "the token is still in the URL");

        await page.reload();
        const row = page.getByRole("row", { name: /Dorothy Vaughan/ });
        await row.getByRole("button", { name: "Role of Dorothy Vaughan: Staff", exact: true }).focus();
        await page.keyboard.press("Enter");
        await page.keyboard.press("ArrowDown");
        assert.equal(
          await page.getByRole("menuitem", { name: "Admin" }).evaluate((item) => item.dataset.highlighted),
          "",
        );
        await page.getByRole("menuitem", { name: "Manager" }).click();
        await dialog.getByRole("button", { name: "Change role" }).click();
        await page.getByText("Role of Dorothy Vaughan changed to Manager", { exact: true }).first().waitFor();
        await guest.reload();
        await menu(guest).getByRole("link", { name: "Customers" }).waitFor();
        assert.deepEqual(await menu(guest).getByRole("link").allInnerTexts(), sectionsOf("MANAGER"));

        await row.getByRole("button", { name: "Remove" }).click();
        await dialog.getByRole("button", { name: "Remove" }).click();
        await row.waitFor({ state: "detached" });
        await guest.reload();
        await guest.getByRole("button", { name: "Log in" }).waitFor();
      });
    });
    await as(browser, null, async (guest) => {
      await guest.goto("/dashboard/accept-invite");
      await guest.getByText("This invitation link is incomplete").waitFor();
      await guest.goto("/dashboard/accept-invite#0123456789abcdef");
      await guest.reload();
      await guest.getByLabel("Password").fill(joining.password);
      await guest.getByRole("button", { name: "Accept invitation" }).click();
      await guest.getByText("This invitation has been used").waitFor();
    });
  });

  it("withdraws an invitation", async () => {
    await as(browser, userOf("OWNER"), async (page) => {
      const api = await client(userOf("OWNER"));
      const { link } = await api("POST", "/users", {
        email: "mary@example.com",
        name: "Mary Jackson",
        role: "STAFF",
        storeIds: [world.stores[0].storeId],
      });
      await visit(page, "Team");
      const row = page.getByRole("region", { name: "Pending invitations" }).getByRole("row", { name: /Mary Jackson/ });
      await row.getByRole("button", { name: "Withdraw" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Withdraw" }).click();
      await page.getByText("Invitation of Mary Jackson withdrawn").first().waitFor();
      await row.waitFor({ state: "detached" });
      await as(browser, null, async (guest) => {
        await guest.goto(link);
        await guest.getByLabel("Password").fill("mary's own password");
        await guest.getByRole("button", { name: "Accept invitation" }).click();
        await guest.getByText("This invitation has been used").waitFor();
      });
    });
  });

  it("keeps its last owner", async () => {
    const owner = world.users.find((user) => user.role === "OWNER" && user.storeIds.includes(world.busy.storeId));
    await as(browser, owner, async (page) => {
      await visit(page, "Team");
      await page.getByRole("button", { name: "Role of Kai Owner: Owner" }).click();
      await page.getByRole("menuitem", { name: "Staff" }).click();
      await page.getByRole("button", { name: "Change role" }).click();
      await page
        .getByText(/must have an owner/i)
        .first()
        .waitFor();
      await page.reload();
      await page.getByRole("button", { name: "Role of Kai Owner: Owner" }).waitFor();
    });
  });
});

describe("an API key", () => {
  it("is shown once, works within its scopes and is revoked", async () => {
    await as(browser, userOf("OWNER"), async (page) => {
      await visit(page, "API keys");
      await page.getByRole("button", { name: "Create API key" }).first().click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Name", { exact: true }).fill("Till");
      await dialog.getByRole("checkbox", { name: /^read:orders/ }).check();
      await dialog.getByRole("button", { name: "Create" }).click();
      const key = (await dialog.getByText(/^svc_live_sk_/).innerText()).trim();
      const status = async (path) =>
        (await fetch(world.api + path, { headers: { Authorization: `Bearer ${key}` } })).status;
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
  it("is switched in every tab", async () => {
    await as(browser, userOf("OWNER"), async (page, context) => {
      const [berlin, zurich] = world.stores;
      const other = await context.newPage();
      await other.goto("/dashboard/settings");
      await heading(other, "Settings").waitFor();
      await visit(page, "Products");
      await page.getByText("Pizza Margherita", { exact: true }).waitFor();
      await choose(page, "Store", zurich.storeName);
      await page.getByText("with prices in CHF").waitFor();
      await page.getByText("Pizza Margherita", { exact: true }).waitFor({ state: "detached" });
      await other.getByText(`Settings of ${zurich.storeName}`).waitFor();
      await choose(page, "View", "fr-CH · EUR");
      await page.getByText("with prices in EUR").waitFor();
      await choose(page, "Store", berlin.storeName);
      await page.getByText("Pizza Margherita", { exact: true }).waitFor();
    });
  });
});
