import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { accessible, as, launch, logIn, newUser, shoot, until, world } from "./world.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

const [{ storeId }] = world.stores;

/** Sends a request of a customer and returns its status. */
async function customer(path, body) {
  const response = await fetch(`${world.mailing}/customer-auth/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ storeId, ...body }),
  });
  return response.status;
}

/** Returns the link in the newest email to an address. */
const linkTo = (address) =>
  until(`an email to ${address}`, async () => {
    const response = await fetch(`${world.inbox}?to=${encodeURIComponent(address)}`);
    return response.ok && response.text();
  });

/** Chooses a new password with a link, which then no longer works. */
async function choose(page, link, password) {
  const message = page.getByRole("status");
  await page.goto(link);
  await page.getByLabel("New password").fill("football!");
  assert.ok(!page.url().includes("#"), "the token is still in the URL");
  await page.getByRole("button", { name: "Change password" }).click();
  await message.getByText(/^The password /).waitFor();
  await accessible(page, "the page of a reset link");
  await page.getByLabel("New password").fill(password);
  await page.getByRole("button", { name: "Change password" }).click();
  await message.getByText("The password has been changed.").waitFor();
  await page.goto("about:blank");
  await page.goto(link);
  await page.getByLabel("New password").fill(password);
  await page.getByRole("button", { name: "Change password" }).click();
  await message.getByText("The link is no longer valid").waitFor();
}

describe("a change of a customer's email", () => {
  it("takes effect when the customer opens the link and confirms", async () => {
    const [former, email] = [`susan-${process.pid}@example.com`, `susan-new-${process.pid}@example.com`];
    const password = "susan's long phrase";
    assert.equal(await customer("register", { email: former, password, firstName: "Susan", lastName: "Kare" }), 201);
    const login = await fetch(`${world.mailing}/customer-auth/login`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ storeId, email: former, password }),
    });
    const { accessToken } = (await login.json()).data;
    const requested = await fetch(`${world.mailing}/customer-auth/email`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${accessToken}` },
      body: JSON.stringify({ email, password }),
    });
    assert.equal(requested.status, 202);
    await as(browser, null, async (page) => {
      const message = page.getByRole("status");
      const confirm = page.getByRole("button", { name: "Confirm email" });
      const link = await linkTo(email);
      await page.goto(link);
      await confirm.waitFor();
      assert.ok(!page.url().includes("#"), "the token is still in the URL");
      assert.equal(await customer("login", { email, password }), 401, "login before the click");
      await accessible(page, "the page that confirms an email");
      await confirm.click();
      await message.getByText("The email has been changed.").waitFor();
      await page.goto("about:blank");
      await page.goto(link);
      await confirm.click();
      await message.getByText("The link is no longer valid").waitFor();
      await page.goto("about:blank");
      await page.goto(link.replace("#token=cus_", "#token=usr_"));
      await message.getByText("This link is incomplete.").waitFor();
      assert.equal(await confirm.isVisible(), false, "button for a link of another kind");
    });
    assert.equal(await customer("login", { email: former, password }), 401);
    assert.equal(await customer("login", { email, password }), 200);
  });
});

describe("a password reset", () => {
  it("gives a user a new password", async () => {
    const user = await newUser("STAFF");
    const password = "the user's new phrase";
    await as(browser, null, async (page) => {
      await page.goto(`${world.mailing}/dashboard/`);
      await page.getByRole("button", { name: "Forgot password?" }).click();
      await page.getByLabel("Email").fill(user.email);
      await page.getByRole("button", { name: "Send link" }).click();
      await page.getByText("is on its way").waitFor();
      await page.getByText(`comanda admin reset-password --email ${user.email}`).waitFor();
      await accessible(page, "a requested reset");
      await shoot(page, "login-reset");
      await choose(page, await linkTo(user.email), password);
      await logIn(page, { ...user, password });
    });
  });

  it("gives a customer a new password", async () => {
    const email = `mary-${process.pid}@example.com`;
    const [first, second] = ["mary's first phrase", "mary's second phrase"];
    assert.equal(await customer("register", { email, password: first, firstName: "Mary", lastName: "Allen" }), 201);
    assert.equal(await customer("password-reset", { email }), 202);
    await as(browser, null, async (page) => choose(page, await linkTo(email), second));
    assert.equal(await customer("login", { email, password: first }), 401);
    assert.equal(await customer("login", { email, password: second }), 200);
  });
});
