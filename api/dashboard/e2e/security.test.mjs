import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import {
  accessible,
  as,
  choose,
  client,
  heading,
  home,
  launch,
  logIn,
  menu,
  newUser,
  shoot,
  totp,
  userOf,
  visit,
  visitor,
  withOtp,
  world,
} from "./world.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

/** Opens the security page of the logged-in user. */
async function security(page) {
  if (page.url() === "about:blank") await home(page);
  await page.getByRole("link", { name: "Security", exact: true }).click();
  await heading(page, "Security").waitFor();
}

describe("the security page", () => {
  it("changes the password", async () => {
    const user = await newUser("STAFF");
    const next = "the user's second phrase";
    await as(browser, user, async (page) => {
      await security(page);
      await page.getByLabel("Current password").fill("not the password");
      await page.getByLabel("New password").fill(next);
      await page.getByRole("button", { name: "Change password" }).click();
      await page.getByText("This is not your current password.").waitFor();
      await page.getByLabel("Current password").fill(user.password);
      await page.getByLabel("New password").fill("password1");
      await page.getByRole("button", { name: "Change password" }).click();
      await page.locator("[name=newPassword][aria-invalid]").waitFor();
      await page.getByLabel("New password").fill(next);
      await page.getByRole("button", { name: "Change password" }).click();
      await page.getByText("Password changed").first().waitFor();
      assert.equal(await page.getByLabel("New password").inputValue(), "");
      await page.reload(); // this session continues
      await heading(page, "Security").waitFor();
    });
    await as(browser, { ...user, password: next }, () => {});
  });

  it("ends a session of another device, and all others", async () => {
    const user = await newUser("MANAGER");
    await as(browser, user, async (page) => {
      const devices = [await visitor(browser), await visitor(browser), await visitor(browser)];
      const tabs = [];
      for (const { context } of devices) {
        const tab = await context.newPage();
        await logIn(tab, user);
        tabs.push(tab);
      }
      await security(page);
      const rows = page.getByRole("region", { name: "Sessions" }).locator("tbody tr");
      const end = page.getByRole("button", { name: "End the session" });
      await end.first().waitFor();
      const count = await rows.count();
      assert.equal(await page.getByText("this device").count(), 1);
      assert.equal(await end.count(), count - 1);
      await end.first().click(); // the newest session
      await page.getByRole("button", { name: "End session", exact: true }).click();
      await page.getByText("Session ended").first().waitFor();
      await tabs[2].reload();
      await tabs[2].getByRole("button", { name: "Log in" }).waitFor();
      await tabs[1].reload();
      await menu(tabs[1]).waitFor();

      await page.getByRole("button", { name: "End all other sessions" }).click();
      await page.getByRole("button", { name: "End sessions", exact: true }).click();
      await page.getByText("All other sessions ended").first().waitFor();
      await page.getByRole("button", { name: "End all other sessions" }).waitFor({ state: "detached" });
      await page.getByText("this device").waitFor();
      assert.equal(await rows.count(), 1);
      for (const tab of tabs.slice(0, 2)) {
        await tab.reload();
        await tab.getByRole("button", { name: "Log in" }).waitFor();
      }
      for (const { context } of devices) await context.close();
    });
  });

  it("asks for the password again before an operation that requires it, then continues", async () => {
    const owner = await newUser("OWNER");
    await as(browser, owner, async (page) => {
      // The refusal of a session whose user logged in more than an hour ago; the proof is a real one.
      let proven = false;
      page.on("response", (response) => {
        proven ||= response.url().endsWith("/auth/reauthenticate") && response.status() === 200;
      });
      const error = { statusCode: 403, code: "REAUTHENTICATION_REQUIRED", message: "too old", requestId: "req_1" };
      await page.route("**/api-keys", (route) =>
        route.request().method() === "POST" && !proven
          ? route.fulfill({ status: 403, json: { success: false, error } })
          : route.continue(),
      );
      await visit(page, "API keys");
      await page.getByRole("button", { name: "Create API key" }).first().click();
      await page.getByLabel("Name", { exact: true }).fill("Kiosk");
      await page.getByRole("checkbox", { name: /^read:orders/ }).check();
      await page.getByRole("button", { name: "Create", exact: true }).click();
      const dialog = page.getByRole("dialog", { name: "Confirm that it is you" });
      await dialog.getByLabel("Password").fill("not the password");
      await dialog.getByRole("button", { name: "Continue" }).click();
      await dialog.getByText("This is not your current password.").waitFor();
      await accessible(page, "the question for the password");
      await shoot(page, "security-reauthenticate");
      await page.keyboard.press("Escape"); // neither dialog closes
      await dialog.getByLabel("Password").fill(owner.password);
      await dialog.getByRole("button", { name: "Continue" }).click();
      await page.getByTestId("api-key").waitFor();
    });
  });

  it("sets up a second factor, which a login then requires", async () => {
    const user = await newUser("STAFF");
    let codes;
    let secret;
    await as(browser, user, async (page) => {
      await security(page);
      await page.getByRole("button", { name: "Set up second factor" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Password").fill(user.password);
      await dialog.getByRole("button", { name: "Continue" }).click();
      secret = (await dialog.getByTestId("otp-secret").innerText()).trim();
      await dialog.getByTestId("otp-qr").waitFor();
      await accessible(page, "the QR code");
      await shoot(page, "security-otp");
      await dialog.getByLabel("Code").fill("000000");
      await dialog.getByRole("button", { name: "Switch on" }).click();
      await dialog.getByText("This code is not correct").waitFor();
      await dialog.getByLabel("Code").fill(totp(secret));
      await dialog.getByRole("button", { name: "Switch on" }).click();
      await dialog.getByRole("button", { name: "I have saved the codes" }).waitFor();
      codes = await dialog.getByRole("list", { name: "Recovery codes" }).getByRole("listitem").allInnerTexts();
      assert.equal(codes.length, 10);
      await page.keyboard.press("Escape"); // they are shown only once
      await accessible(page, "the recovery codes");
      await shoot(page, "security-recovery-codes");
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        dialog.getByRole("button", { name: "Download codes" }).click(),
      ]);
      assert.equal(download.suggestedFilename(), "comanda-recovery-codes.txt");
      await dialog.getByRole("button", { name: "I have saved the codes" }).click();
      await page.getByRole("button", { name: "Switch off" }).waitFor();
      assert.ok(!(await page.content()).includes(codes[0]), "the codes are still on the page");
    });
    await as(browser, null, async (page) => {
      await page.goto("/dashboard/");
      await page.getByLabel("Email").fill(user.email);
      await page.getByLabel("Password").fill(user.password);
      await page.getByRole("button", { name: "Log in" }).click();
      await page.getByLabel("Code", { exact: true }).fill("000000");
      await shoot(page, "login-otp");
      await page.getByRole("button", { name: "Log in" }).click();
      await page.getByText("This code is not correct or was already used").waitFor();
      await page.getByRole("button", { name: "Use a recovery code" }).click();
      await page.getByLabel("Recovery code", { exact: true }).fill(codes[0]);
      await page.getByRole("button", { name: "Log in" }).click();
      await menu(page).waitFor();
      await security(page);
      await page.getByRole("button", { name: "Switch off" }).click();
      await page.getByRole("dialog").getByLabel("Password").fill(user.password);
      await page.getByRole("dialog").getByRole("button", { name: "Switch off" }).click();
      await page.getByRole("button", { name: "Set up second factor" }).waitFor();
    });
    await as(browser, user, () => {});
  });
});

/** Logs in with a code of the authenticator app or a recovery code. */
async function logInWithCode(page, user, code, label) {
  await page.goto("/dashboard/");
  await page.getByLabel("Email").fill(user.email);
  await page.getByLabel("Password").fill(user.password);
  await page.getByRole("button", { name: "Log in" }).click();
  if (label === "Recovery code") await page.getByRole("button", { name: "Use a recovery code" }).click();
  await page.getByLabel(label, { exact: true }).fill(code);
  await page.getByRole("button", { name: "Log in" }).click();
  await menu(page).waitFor();
}

describe("a second factor", () => {
  it("logs in with a code of the app, in the groups that apps show", async () => {
    const user = await newUser("STAFF");
    const { secret } = await withOtp(user);
    await as(browser, null, async (page) => {
      // The code that confirmed the set-up is used up. The next one is valid already, because clocks may differ.
      const code = totp(secret, 1);
      await logInWithCode(page, user, `${code.slice(0, 3)} ${code.slice(3)}`, "Code");
    });
  });

  it("is required to accept an invitation with an existing login", async () => {
    const user = await newUser("STAFF");
    const { secret } = await withOtp(user);
    const [, zurich] = world.stores;
    const owner = await client(userOf("OWNER"));
    const { link } = await owner("POST", "/users", {
      email: user.email,
      name: "Again",
      role: "MANAGER",
      storeIds: [zurich.storeId],
    });
    await as(browser, null, async (page) => {
      await page.goto(link);
      await page.getByLabel("Password").fill(user.password);
      await page.getByRole("button", { name: "Accept invitation" }).click();
      await page.getByText("Enter the code of your second factor.").waitFor();
      await accessible(page, "an invitation that requires a code");
      await shoot(page, "accept-invite-otp");
      await page.getByLabel("Code", { exact: true }).fill("000000");
      await page.getByRole("button", { name: "Accept invitation" }).click();
      await page.getByRole("alert").waitFor();
      await page.getByLabel("Code", { exact: true }).fill(totp(secret, 1));
      await page.getByRole("button", { name: "Accept invitation" }).click();
      await menu(page).waitFor();
      await choose(page, "Store", zurich.storeName);
    });
  });

  it("is required by an owner, and then set up by the other users before they continue", async () => {
    const owner = await newUser("OWNER");
    const { recoveryCodes } = await withOtp(owner);
    const admin = await newUser("ADMIN");
    await as(browser, null, async (page) => {
      await logInWithCode(page, owner, recoveryCodes[0], "Recovery code");
      await visit(page, "Settings");
      const choose = async (label) => {
        await page.getByLabel("Logins of the team").selectOption({ label });
        // The message of the first time may still be shown at the second time.
        const saved = page.waitForResponse(
          (one) => one.request().method() === "PATCH" && one.url().endsWith("/settings"),
        );
        await page.getByRole("button", { name: "Save" }).click();
        assert.equal((await saved).status(), 200);
      };
      await as(browser, admin, async (other) => {
        await visit(other, "Settings");
        await other.getByText("Only an owner can change this.").waitFor();
        assert.ok(await other.getByLabel("Logins of the team").isDisabled());
        await choose("Every user needs a second factor");
        try {
          await other.getByLabel("Seats").fill("41");
          await other.getByRole("button", { name: "Save" }).click(); // no query fails before
          await heading(other, "Security").waitFor();
          await other.getByText("This store requires a second factor.").waitFor();
          await other.getByRole("button", { name: "Set up second factor" }).click();
          const dialog = other.getByRole("dialog");
          await dialog.getByLabel("Password").fill(admin.password);
          await dialog.getByRole("button", { name: "Continue" }).click();
          const secret = (await dialog.getByTestId("otp-secret").innerText()).trim();
          await dialog.getByLabel("Code").fill(totp(secret));
          await dialog.getByRole("button", { name: "Switch on" }).click();
          await dialog.getByRole("button", { name: "I have saved the codes" }).click();
          await visit(other, "Settings");
          await other.getByLabel("Seats").waitFor();
        } finally {
          await choose("The second factor is optional");
        }
      });
    });
  });

  it("is not offered as a requirement to an owner without one", async () => {
    await as(browser, userOf("OWNER"), async (page) => {
      await visit(page, "Settings");
      assert.ok(await page.getByLabel("Logins of the team").isDisabled());
      await page.getByRole("link", { name: "set up your own second factor" }).click();
      await heading(page, "Security").waitFor();
    });
  });
});
