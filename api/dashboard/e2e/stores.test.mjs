import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { accessible, as, choose, client, heading, launch, shoot, untilTexts, userOf, visit, world } from "./world.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

const [berlin] = world.stores;

describe("the page of the store", () => {
  it("changes the name and the country", async () => {
    const api = await client(userOf("OWNER"));
    const { storeName, countryCode } = await api("GET", "/store");
    try {
      await as(browser, userOf("ADMIN"), async (page) => {
        await visit(page, "Store");
        assert.equal(await page.getByRole("button", { name: "Add store" }).count(), 0);
        await page.getByLabel("Store name").fill(" ");
        await page.getByRole("button", { name: "Save" }).click();
        await page.locator("[name=storeName][aria-invalid]").waitFor();
        await page.getByLabel("Store name").fill("Osteria Verde");
        await page.getByLabel("Country").selectOption("AT");
        await page.getByRole("button", { name: "Save" }).click();
        await page.getByText("Store saved").first().waitFor();
        await page.getByText("The name, the country and the views of Osteria Verde.").waitFor();
        await page.getByRole("button", { name: "Store: Osteria Verde" }).waitFor();
        assert.equal((await api("GET", "/store")).countryCode, "AT");
      });
    } finally {
      await api("PATCH", "/store", { storeName, countryCode });
    }
  });

  it("adds a view, makes it the default and deletes it", async () => {
    await as(browser, userOf("ADMIN"), async (page) => {
      await visit(page, "Store");
      const table = page.getByRole("region", { name: "Views" });
      const original = table.locator("tbody tr").filter({ hasText: "default" }).first();
      await original.waitFor();
      const before = await table.locator("tbody tr").count();
      const code = await original.locator("code").innerText();
      const first = table.locator("tbody tr").filter({ has: page.getByText(code, { exact: true }) });
      assert.equal(await first.getByRole("button", { name: "Delete" }).count(), 0);

      await page.getByRole("button", { name: "Add view" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Locale").fill("it-IT");
      await dialog.getByLabel("Currency").fill("eur");
      assert.equal(await dialog.getByLabel("Code").inputValue(), "it_it");
      await dialog.getByLabel("Code").fill(code);
      await accessible(page, "Add view");
      await dialog.getByRole("button", { name: "Add view" }).click();
      await dialog
        .getByText(/is the code of another view/i)
        .first()
        .waitFor();
      await shoot(page, "store-view");
      await dialog.getByLabel("Code").fill("it_it");
      await dialog.getByRole("button", { name: "Add view" }).click();
      const added = table.locator("tbody tr").filter({ hasText: "it-IT" });
      await added.waitFor();
      assert.equal(await table.locator("tbody tr").count(), before + 1);
      await choose(page, "View", "it-IT · EUR");
      await added.getByText("Italian").waitFor(); // in the language of the browser

      await added.getByRole("button", { name: "Make default" }).click();
      await added.getByText("default", { exact: true }).waitFor();
      await first.getByRole("button", { name: "Make default" }).click();
      await first.getByText("default", { exact: true }).waitFor();

      await added.getByRole("button", { name: "Edit" }).click();
      await dialog.getByLabel("Currency").fill("CHF");
      await dialog.getByRole("button", { name: "Save" }).click();
      await added.getByRole("cell", { name: "CHF", exact: true }).waitFor();
      await added.getByRole("button", { name: "Delete" }).click();
      await dialog.getByRole("button", { name: "Delete view" }).click();
      await page.getByText("View it-IT · CHF deleted").first().waitFor();
      await heading(page, "Store").waitFor(); // the session continues in the default view
      await added.waitFor({ state: "detached" });
      assert.equal(await table.locator("tbody tr").count(), before);
    });
  });

  it("refuses to delete a view that another user made the default", async () => {
    const api = await client(userOf("OWNER"));
    const { storeViews } = await api("GET", "/store");
    const view = await api("POST", "/store/views", { code: "es_es", locale: "es-ES", currency: "EUR" });
    await as(browser, userOf("ADMIN"), async (page) => {
      await visit(page, "Store");
      await page.getByRole("button", { name: "Delete es-ES EUR" }).click();
      await api("PATCH", `/store/views/${view.id}`, { isDefault: true });
      await page.getByRole("dialog").getByRole("button", { name: "Delete view" }).click();
      await page.getByText("The default view cannot be deleted").waitFor();
    });
    await api("PATCH", `/store/views/${storeViews[0].id}`, { isDefault: true });
    await api("DELETE", `/store/views/${view.id}`);
  });

  it("adds a further store of the website and switches to it", async () => {
    const owner = world.users.find((user) => user.role === "OWNER" && !user.storeIds.includes(berlin.storeId));
    await as(
      browser,
      owner,
      async (page) => {
        await visit(page, "Store");
        await page.getByRole("button", { name: "Add store" }).click();
        const dialog = page.getByRole("dialog");
        await dialog.getByLabel("Store name").fill("Harbour");
        await dialog.getByLabel("Country", { exact: true }).selectOption("CH");
        await dialog.getByLabel("Time zone").fill("Europe/Zurich");
        await dialog.getByLabel("Locale").fill("de-CH");
        await dialog.getByLabel("Currency").fill("chf");
        await dialog.getByRole("button", { name: "Add view" }).click();
        await dialog.getByLabel("Locale").last().fill("de-CH");
        await dialog.getByLabel("Currency").last().fill("eur");
        await accessible(page, "Add store");
        await shoot(page, "store-add");
        await dialog.getByRole("button", { name: "Add store" }).click();
        await dialog.getByRole("button", { name: "Switch to Harbour" }).click();
        await page.getByText("The name, the country and the views of Harbour.").waitFor();
        const codes = page.getByRole("region", { name: "Views" }).locator("tbody code");
        await untilTexts(codes, ["de_ch_chf", "de_ch_eur"]);

        const steps = page.getByRole("list", { name: "Set-up" });
        const done = (title) =>
          steps
            .getByRole("listitem")
            .filter({ hasText: `${title} (done)` })
            .waitFor();
        await done("Name and views");
        await page.getByText("1 of 7 done").waitFor();
        await accessible(page, "an empty store");
        await shoot(page, "store-setup");
        const storeId = await page.getByText(/^sto_/).innerText();
        const harbour = await client(owner, storeId);
        await harbour("POST", "/products", { name: "Rösti", priceMinor: 1900, currency: "CHF" });
        await harbour("PATCH", "/settings", { taxRatePpm: 81_000 });
        await page.reload();
        await done("Menu");
        await done("Tax");
        await page.getByText("3 of 7 done").waitFor();
        await page.goto("/dashboard/"); // the home page of those who can complete the set-up
        await heading(page, "Home").waitFor();
        await page.getByRole("button", { name: "The store is always open" }).click();
        await done("Opening hours");
        await page.getByText("4 of 7 done").waitFor();
        const { openingHours } = await harbour("GET", "/settings"); // all users and devices see the confirmation
        assert.deepEqual(openingHours.PICKUP.sun, [{ from: "00:00", to: "24:00" }]);
        await page.route("**/settings", (route) => route.fulfill({ status: 500, json: {} }));
        await page.reload();
        await page.getByText("The steps of the set-up could not be loaded.").waitFor();
        await page.unroute("**/settings");
        await page.getByRole("button", { name: "Try again" }).click();
        await steps.getByRole("link", { name: "Invite users" }).click();
        await heading(page, "Team").waitFor();
      },
      { own: true },
    );
  });
});
