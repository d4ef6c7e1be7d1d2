// What the browser tests share. They are run by app/dev/browser, which starts everything.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";

import { AxeBuilder } from "@axe-core/playwright";
import { chromium } from "playwright-core";

export const world = JSON.parse(readFileSync(process.env.COMANDA_WORLD, "utf8"));

/** The sections of the menu, in its order, and from which role on they are there. */
export const sections = {
  Orders: ["/orders", "STAFF"],
  Reservations: ["/reservations", "STAFF"],
  Products: ["/products", "STAFF"],
  Customers: ["/customers", "MANAGER"],
  Analytics: ["/analytics", "ADMIN"],
  Webhooks: ["/webhooks", "ADMIN"],
  "Dead letters": ["/dead-letters", "ADMIN"],
  Settings: ["/settings", "ADMIN"],
  Team: ["/team", "OWNER"],
  "API keys": ["/api-keys", "OWNER"],
  Plan: ["/plan", "OWNER"],
  "Audit trail": ["/audit", "OWNER"],
};

export const ranks = { STAFF: 1, MANAGER: 2, ADMIN: 3, OWNER: 4 };

/** Whoever works in the first store with that role. */
export const userOf = (role) => world.users.find((user) => user.role === role && user.storeIds.includes(world.stores[0].storeId));

export const launch = () =>
  chromium.launch({
    executablePath: world.chromium,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });

/**
 * A browser of its own, as of another person. What its pages should never do is noted in
 * `faults`: errors on the console, dialogs, violations of the policy.
 */
export async function visitor(browser, options = {}) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, baseURL: world.api, locale: "en-US", timezoneId: "UTC", reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(30_000);
  const faults = [];
  await context.exposeFunction("hacked", () => void faults.push("a script of a stranger has run"));
  context.on("page", (page) => {
    page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
    page.on("dialog", (dialog) => faults.push(`dialog: ${dialog.message()}`) && dialog.dismiss());
    page.on("console", (message) => {
      if (/Content.Security.Policy/i.test(message.text())) faults.push(message.text());
      else if (message.type() === "error" && !/Failed to load resource/.test(message.text())) faults.push(`console: ${message.text()}`);
    });
  });
  return { context, faults };
}

/** What a user does in a browser of their own, already logged in; without a user, what anybody does. */
export async function as(browser, user, work, options) {
  const { context, faults } = await visitor(browser, options);
  try {
    const page = await context.newPage();
    if (user) await logIn(page, user);
    await work(page, context);
    assert.deepEqual(faults, []);
  } finally {
    await context.close();
  }
}

/** Logs in at an API, and waits for the menu. */
export async function logIn(page, user, api = world.api) {
  await page.goto(`${api}/dashboard/`);
  await page.getByLabel("E-mail address").fill(user.email);
  await page.getByLabel("Password").fill(user.password);
  await page.getByRole("button", { name: "Log in" }).click();
  await menu(page).waitFor();
}

export const menu = (page) => page.getByRole("navigation", { name: "Sections" });

/** Clicks on a section, and waits for its heading. */
export async function visit(page, name) {
  await menu(page).getByRole("link", { name, exact: true }).click();
  await heading(page, name).waitFor();
}

export const heading = (page, name) => page.getByRole("heading", { level: 1, name, exact: true });

/** Waits until nothing of the page says that it is loading. */
export async function settled(page) {
  await page.waitForFunction(() => !document.querySelector("[role=status]")?.textContent?.endsWith("…"));
}

/** A client of the API that is logged in. */
export async function client(user, storeId = user.storeIds[0]) {
  const ask = async (method, path, body, headers = {}) => {
    const response = await fetch(world.api + path, { method, headers: { "Content-Type": "application/json", ...headers }, body: body && JSON.stringify(body) });
    const answer = response.status === 204 ? {} : await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer.error)}`);
    return answer.data;
  };
  const { accessToken } = await ask("POST", "/auth/login", { email: user.email, password: user.password, storeId });
  return (method, path, body) => ask(method, path, body, { Authorization: `Bearer ${accessToken}` });
}

/** Asks until there is an answer, and returns it. */
export async function until(what, ask) {
  for (const end = Date.now() + 30_000; ; await setTimeout(100)) {
    const answer = await ask();
    if (answer) return answer;
    assert.ok(Date.now() < end, `${what}: not within 30 seconds`);
  }
}

/** Fails when axe finds a serious fault of the page; with all its rules, unless some are named. */
export async function accessible(page, name, rules) {
  const axe = new AxeBuilder({ page }).setLegacyMode(true).options({ resultTypes: ["violations"] }); // there are no frames, and what passes is nobody's news
  const { violations } = await (rules ? axe.withRules(rules) : axe).analyze();
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(
    serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`),
    [],
    name,
  );
}

/** Takes the page's picture, if that is wanted. */
export async function shoot(page, name) {
  if (!world.screenshots) return;
  mkdirSync(world.screenshots, { recursive: true });
  await page.evaluate(() => document.fonts.ready);
  await page.screenshot({ path: join(world.screenshots, `${name}.png`), animations: "disabled" });
}
