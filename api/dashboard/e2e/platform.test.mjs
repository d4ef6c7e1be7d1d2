import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import {
  accessible,
  accessibleInThemes,
  as,
  heading,
  home,
  launch,
  logIn,
  menu,
  narrow,
  sections,
  settled,
  shoot,
  totp,
  until,
  userOf,
  visit,
  world,
} from "./world.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

const admin = world.platformAdmin;

/** Opens a website with the form. `filled` is called before the form is sent. */
async function openWebsite(page, { name, domain, owner = `owner@${domain}` }, filled = () => {}) {
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Open website" }).first().click();
  await dialog.getByLabel("Website name").fill(name);
  await dialog.getByLabel("Domain").fill(domain);
  await dialog.getByLabel("Plan").selectOption({ label: "Grow" });
  await dialog.getByLabel("Store name").fill(`${name} Nord`);
  await dialog.getByLabel("Country", { exact: true }).selectOption("IT");
  await dialog.getByLabel("Time zone").fill("Europe/Rome");
  await dialog.getByLabel("Locale").fill("it-IT");
  await dialog.getByLabel("Currency").fill("eur");
  await dialog.getByLabel("Owner name").fill("Enzo Verdi");
  await dialog.getByLabel("Owner email").fill(owner);
  await filled();
  await dialog.getByRole("button", { name: "Open website" }).click();
}

describe("the platform console", () => {
  it("requires a second factor, which the administrator sets up at the first login", async () => {
    let secret;
    const dashboard = { baseURL: world.mailing };
    const websites = (page) => page.getByRole("navigation").getByRole("link", { name: "Websites" });
    await as(
      browser,
      null,
      async (page) => {
        await logIn(page, admin, world.mailing);
        await heading(page, "Security").waitFor();
        await page.getByText("The platform console requires a second factor.").waitFor();
        await accessible(page, "the requirement of a second factor");
        await shoot(page, "platform-otp");
        await websites(page).click();
        await heading(page, "Security").waitFor();
        await page.getByRole("button", { name: "Set up second factor" }).click();
        const dialog = page.getByRole("dialog");
        await dialog.getByLabel("Password").fill(admin.password);
        await dialog.getByRole("button", { name: "Continue" }).click();
        secret = (await dialog.getByTestId("otp-secret").innerText()).trim();
        await dialog.getByLabel("Code").fill(totp(secret));
        await dialog.getByRole("button", { name: "Switch on" }).click();
        await dialog.getByRole("button", { name: "I have saved the codes" }).click();
        await page.getByText("The platform console requires a second factor.").waitFor({ state: "detached" });
        await websites(page).click();
        await page
          .getByRole("row", { name: /Trattoria/ })
          .first()
          .waitFor();
      },
      dashboard,
    );
    await as(
      browser,
      null,
      async (page) => {
        await page.goto("/dashboard/");
        await page.getByLabel("Email").fill(admin.email);
        await page.getByLabel("Password").fill(admin.password);
        await page.getByRole("button", { name: "Log in" }).click();
        await page.getByLabel("Code", { exact: true }).fill(totp(secret, 1));
        await page.getByRole("button", { name: "Log in" }).click();
        await page
          .getByRole("row", { name: /Trattoria/ })
          .first()
          .waitFor();
        // The other tests log in without a code.
        await page.getByRole("link", { name: "Security", exact: true }).click();
        await page.getByRole("button", { name: "Switch off" }).click();
        await page.getByRole("dialog").getByLabel("Password").fill(admin.password);
        await page.getByRole("dialog").getByRole("button", { name: "Switch off" }).click();
        await page.getByRole("button", { name: "Set up second factor" }).waitFor();
      },
      dashboard,
    );
  });

  it("opens a website, invites its owner, suspends and resumes the website", async () => {
    const owner = { email: "enzo@osteria.example", password: "enzo's own phrase" };
    await as(browser, admin, async (page) => {
      await home(page);
      await heading(page, "Websites").waitFor();
      const dialog = page.getByRole("dialog");
      await openWebsite(page, { name: "Osteria", domain: "osteria.example", owner: owner.email }, async () => {
        await accessible(page, "Open website");
        await shoot(page, "platform-open");
      });
      const link = (await dialog.getByTestId("invitation").innerText()).trim();
      await dialog.getByRole("button", { name: "Done" }).click();
      await page
        .getByRole("row", { name: /Osteria/ })
        .getByText("active")
        .waitFor();
      await page.getByRole("link", { name: "Osteria", exact: true }).click();
      const title = page.getByRole("heading", { level: 1 });
      await title.getByText("active").waitFor();

      await as(browser, null, async (guest) => {
        await guest.goto(link);
        await guest.getByLabel("Password").fill(owner.password);
        await guest.getByRole("button", { name: "Accept invitation" }).click();
        await menu(guest).waitFor();
        assert.deepEqual(await menu(guest).getByRole("link").allInnerTexts(), Object.keys(sections));

        await page.getByRole("button", { name: "Suspend" }).click();
        await dialog.getByRole("button", { name: "Suspend website" }).click();
        await title.getByText("suspended").waitFor();
        await guest.reload();
        await heading(guest, "Website suspended").waitFor();
        await page.getByRole("button", { name: "Resume" }).click();
        await dialog.getByRole("button", { name: "Resume website" }).click();
        await title.getByText("active").waitFor();
        await guest.getByRole("button", { name: "Try again" }).click();
        await menu(guest).waitFor();
      });

      await visit(page, "Audit trail");
      await page.getByLabel("Action", { exact: true }).selectOption({ label: "Website suspended" });
      await until("the trail has one entry", async () => (await page.locator("tbody tr").count()) === 1);
    });
  });

  it("edits a website, adds a store and invites its owner", async () => {
    await as(browser, admin, async (page) => {
      await home(page);
      const dialog = page.getByRole("dialog");
      await openWebsite(page, { name: "Pizzeria", domain: "pizzeria.example" });
      await dialog.getByRole("button", { name: "Done" }).click();
      await page.getByRole("link", { name: "Pizzeria", exact: true }).click();
      await page.getByRole("region", { name: "Pending invitations" }).getByText("owner@pizzeria.example").waitFor();

      await page.getByRole("button", { name: "Edit", exact: true }).click();
      await dialog.getByLabel("Website name").fill("Pizzeria Sud");
      await dialog.getByLabel("Domain").fill("trattoria.example"); // of another website
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.getByRole("alert").waitFor();
      await dialog.getByLabel("Domain").fill("sud.example");
      await dialog.getByLabel("Plan", { exact: true }).selectOption({ label: "Professional" });
      await dialog.getByLabel("Plan changed by").selectOption({ label: "Platform administrators only" });
      await dialog.getByRole("button", { name: "Save" }).click();
      await page.getByRole("heading", { level: 1, name: /Pizzeria Sud/ }).waitFor();
      await page.getByText("sud.example · opened").waitFor();
      await page.getByText("Current usage (Professional)").waitFor();

      await page.getByRole("button", { name: "Add store" }).click();
      await dialog.getByLabel("Store name").fill("Pizzeria Porto");
      await dialog.getByLabel("Country", { exact: true }).selectOption("PT");
      await dialog.getByLabel("Time zone").fill("Europe/Lisbon");
      await dialog.getByLabel("Locale").fill("pt-PT");
      await dialog.getByLabel("Currency").fill("eur");
      await dialog.getByRole("button", { name: "Add store" }).click();
      await page.getByRole("region", { name: "Stores" }).getByText("pt-PT · EUR").waitFor();

      await page.getByRole("button", { name: "Invite owner" }).click();
      await dialog.getByLabel("Email").fill("paula@pizzeria.example");
      await dialog.getByLabel("Name", { exact: true }).fill("Paula Azul");
      await dialog.getByLabel("Store").selectOption({ label: "Pizzeria Porto" });
      await dialog.getByRole("button", { name: "Invite" }).click();
      const link = (await dialog.getByTestId("invitation").innerText()).trim();
      await dialog.getByRole("button", { name: "Done" }).click();
      await page
        .getByRole("row", { name: /Paula Azul/ })
        .getByText("Pizzeria Porto")
        .waitFor();
      await as(browser, null, async (guest) => {
        await guest.goto(link);
        await guest.getByLabel("Password").fill("paula's own phrase");
        await guest.getByRole("button", { name: "Accept invitation" }).click();
        await menu(guest).waitFor();
      });
      await page.reload();
      const pending = page.getByRole("row", { name: /owner@pizzeria.example/ });
      await pending.getByRole("button", { name: "Withdraw" }).click();
      await dialog.getByRole("button", { name: "Withdraw" }).click();
      await page.getByText("No pending invitations.").waitFor();
      await page.getByRole("region", { name: "Owners" }).getByText("Paula Azul").waitFor();
      await accessible(page, "a website");
      await shoot(page, "platform-website-light");
      await page.setViewportSize({ width: 360, height: 740 });
      await narrow(page, "a website");
    });
  });

  it("keeps the console and the stores apart", async () => {
    await as(browser, admin, async (page) => {
      await home(page);
      assert.deepEqual(await menu(page).getByRole("link").allInnerTexts(), ["Websites", "Audit trail"]);
      await page.goto("/dashboard/orders");
      await heading(page, "Websites").waitFor();
    });
    await as(browser, userOf("OWNER"), async (page) => {
      await page.goto("/dashboard/platform/websites");
      await page.getByText("Your login cannot open this page").waitFor();
    });
  });

  it("is accessible in both themes and fits a phone", async () => {
    await as(browser, admin, async (page) => {
      for (const [path, name] of Object.entries({ websites: "Websites", audit: "Audit trail" })) {
        await page.setViewportSize({ width: 1280, height: 900 });
        await page.goto(`/dashboard/platform/${path}`);
        await heading(page, name).waitFor();
        await settled(page);
        await accessibleInThemes(page, `platform-${path}`);
        await page.setViewportSize({ width: 360, height: 740 });
        await narrow(page, name);
        await shoot(page, `platform-${path}-phone`);
      }
    });
  });
});
