// Helpers for the browser tests. app/dev/browser starts the programs and runs the tests.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";

import { AxeBuilder } from "@axe-core/playwright";
import axe from "axe-core";
import { chromium } from "playwright-core";

export const world = JSON.parse(readFileSync(process.env.COMANDA_WORLD, "utf8"));

/** The sections in menu order: path and lowest role. */
export const sections = {
  Orders: ["/orders", "STAFF"],
  Reservations: ["/reservations", "STAFF"],
  Payments: ["/payments", "STAFF"],
  "Cash-up": ["/cash-up", "MANAGER"],
  Products: ["/products", "STAFF"],
  Customers: ["/customers", "MANAGER"],
  Analytics: ["/analytics", "ADMIN"],
  Webhooks: ["/webhooks", "ADMIN"],
  "Dead letters": ["/dead-letters", "ADMIN"],
  Store: ["/store", "ADMIN"],
  "Social login": ["/social-login", "ADMIN"],
  Settings: ["/settings", "ADMIN"],
  Team: ["/team", "OWNER"],
  "API keys": ["/api-keys", "OWNER"],
  Plan: ["/plan", "OWNER"],
  "Audit trail": ["/audit", "OWNER"],
};

export const ranks = { STAFF: 1, MANAGER: 2, ADMIN: 3, OWNER: 4 };

/** Returns the user with a role in the first store. */
export const userOf = (role) =>
  world.users.find((user) => user.role === role && user.storeIds.includes(world.stores[0].storeId));

// Chromium regards the last list of features, so this one repeats the features of Playwright's that concern pages.
const disabledFeatures = [
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsUpgrades",
  "HttpsFirstBalancedModeAutoEnable",
  "LensOverlay",
  "MediaRouter",
  "PaintHolding",
  "ThirdPartyStoragePartitioning",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "OptimizationHints",
  "NetworkTimeServiceQuerying",
  "AimEnabled",
  "PreconnectToSearch",
  // The address bar's popups are pages with a renderer each, for every window. They take more than half of the time.
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
  "WebUIOmniboxFullPopup",
];

export const launch = () =>
  chromium.launch({
    executablePath: world.chromium,
    args: [
      `--disable-features=${disabledFeatures}`,
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });

/** The time that a step may take, in milliseconds. */
const stepLimit = 60_000;

/** Bounds a step without a timeout of Playwright: rejects with its name if it takes too long. */
async function bounded(name, step) {
  const done = new AbortController();
  const late = setTimeout(stepLimit, null, { signal: done.signal }).then(() => {
    throw new Error(`timeout after ${stepLimit / 1000} seconds: ${name}`);
  });
  late.catch(() => {}); // the step has ended first
  try {
    return await Promise.race([step, late]);
  } finally {
    done.abort();
  }
}

/** Bounds the calls of methods that have no timeout of Playwright. */
function bound(object, ...methods) {
  for (const method of methods) {
    const call = object[method].bind(object);
    object[method] = (...args) => bounded(`${method} ${String(args[0] ?? "")}`.slice(0, 200), call(...args));
  }
}

/**
 * Opens a separate browser context. `faults` records console errors, dialogs and violations of the
 * Content-Security-Policy, which no page may cause. `refreshes` has the requests for tokens that have not ended.
 */
export async function visitor(browser, options = {}) {
  const context = await bounded(
    "newContext",
    browser.newContext({
      ignoreHTTPSErrors: true,
      baseURL: world.api,
      locale: "en-US",
      timezoneId: "UTC",
      reducedMotion: "reduce",
      ...options,
    }),
  );
  context.setDefaultTimeout(stepLimit);
  const faults = [];
  const refreshes = new Set();
  await context.exposeFunction("hacked", () => void faults.push("an injected script has run"));
  context.on("request", (request) => request.url().endsWith("/auth/refresh") && refreshes.add(request));
  for (const end of ["requestfinished", "requestfailed"]) context.on(end, (request) => refreshes.delete(request));
  bound(context, "newPage", "close", "unrouteAll");
  context.on("page", (page) => {
    bound(page, "evaluate", "close", "screenshot", "unrouteAll");
    bound(page.keyboard, "press", "type", "insertText");
    page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
    page.on("dialog", (dialog) => faults.push(`dialog: ${dialog.message()}`) && dialog.dismiss());
    page.on("console", (message) => {
      if (/Content.Security.Policy/i.test(message.text())) faults.push(message.text());
      else if (message.type() === "error" && !/Failed to load resource/.test(message.text()))
        faults.push(`console: ${message.text()}`);
    });
  });
  return { context, faults, refreshes };
}

/** Opens a browser context that is logged in to the user's first store, unless user is null. */
async function enter(browser, user, options) {
  const visit = await visitor(browser, options);
  if (!user) return visit;
  const { email, password, storeIds: [storeId] = [] } = user; // platform administrators have no store
  const response = await visit.context.request.post("/auth/login", { data: { email, password, storeId } });
  assert.ok(response.ok(), await response.text());
  return visit;
}

/** Closes the pages of a context and removes a test's changes of it. Returns whether its session continues. */
async function leave({ context, refreshes }) {
  const [page] = context.pages();
  if (!page?.url().startsWith(world.api) || refreshes.size > 0 || switched.has(context)) return false;
  await page.evaluate(() => localStorage.clear());
  await Promise.all(context.pages().map((one) => one.close()));
  await Promise.all([context.unrouteAll(), context.clearPermissions(), context.setOffline(false)]);
  return (await context.cookies()).some(({ name }) => name === "refreshToken");
}

/** The logged-in contexts that no test uses, by user and options. */
const idle = new Map();

/** The contexts whose session has another store or view than the user's first one. */
const switched = new WeakSet();

/**
 * Runs work on a blank page, logged in unless user is null. Fails if the context has faults. The next test of the user
 * continues the session in the same context, because a login and a cold cache take longer than most tests. A test that
 * changes the scripts or the clock of the context asks for a context of its `own`.
 */
export async function as(browser, user, work, { own = false, ...options } = {}) {
  const key = JSON.stringify([user?.email, user?.storeIds, options]);
  const shared = !own && world.users.some(({ email }) => email === user?.email);
  if (!idle.has(key)) idle.set(key, []);
  const visit = (shared && idle.get(key).pop()) || (await enter(browser, user, options));
  const { context, faults } = visit;
  let continues = false;
  try {
    await work(await context.newPage(), context);
    assert.deepEqual(faults, []);
    continues = shared && (await leave(visit));
  } catch (error) {
    for (const page of context.pages())
      console.error(page.url(), await page.locator("body").innerText({ timeout: 1_000 }).catch(String));
    throw error;
  } finally {
    if (continues) idle.get(key).push(visit);
    else await context.close();
  }
}

/** Logs in on the login page and waits for the menu. */
export async function logIn(page, user, api = world.api) {
  await page.goto(`${api}/dashboard/`);
  await page.getByLabel("Email").fill(user.email);
  await page.getByLabel("Password").fill(user.password);
  await page.getByRole("button", { name: "Log in" }).click();
  await menu(page).waitFor();
}

/** Chooses an alternative of a menu at the side: a store ("Store") or a view ("View"). */
export async function choose(page, label, name) {
  switched.add(page.context());
  const button = page.getByRole("button", { name: new RegExp(`^${label}: `) });
  await button.click();
  await page
    .getByRole("menuitem", { name: new RegExp(`^${name.replace(/[.*+?()|[\]\\]/g, "\\$&")}( \\(active\\))?$`) })
    .click();
  await page.getByRole("button", { name: `${label}: ${name}`, exact: true }).waitFor();
}

export const menu = (page) => page.getByRole("navigation", { name: "Sections" });

/** Opens the home page and waits for the menu. */
export async function home(page) {
  await page.goto("/dashboard/");
  await menu(page).waitFor();
}

/** Clicks a section, or opens its page if none is open, and waits for its heading. */
export async function visit(page, name) {
  if (page.url() === "about:blank") await page.goto(`/dashboard${sections[name][0]}`);
  else await menu(page).getByRole("link", { name, exact: true }).click();
  await heading(page, name).waitFor();
}

export const heading = (page, name) => page.getByRole("heading", { level: 1, name, exact: true });

/** Waits until the page has finished loading. */
export async function settled(page) {
  await page.waitForFunction(
    () => ![...document.querySelectorAll("[role=status]")].some(({ textContent }) => textContent.endsWith("…")),
  );
}

const clients = new Map();

/** Returns a function that sends API requests as a logged-in user. The clients of a user share a session. */
export function client(user, storeId = user.storeIds[0]) {
  const key = JSON.stringify([user.email, user.password, storeId]);
  if (!clients.has(key)) clients.set(key, connect(user, storeId));
  return clients.get(key);
}

async function connect(user, storeId) {
  const send = async (method, path, body, headers = {}) => {
    const response = await fetch(world.api + path, {
      method,
      headers: { "Content-Type": "application/json", ...headers },
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(stepLimit),
    });
    const result = response.status === 204 ? {} : await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(result.error)}`);
    return result.data;
  };
  const { accessToken } = await send("POST", "/auth/login", { email: user.email, password: user.password, storeId });
  return (method, path, body, headers) =>
    send(method, path, body, { Authorization: `Bearer ${accessToken}`, ...headers });
}

let created = 0;

/** Returns functions that place orders of two units of a product and complete them, as a manager. */
export async function till() {
  const api = await client(userOf("MANAGER"));
  const [product] = (await api("GET", "/products?limit=100")).filter(
    ({ stockQuantity }) => stockQuantity === undefined,
  );
  const place = (name, more = {}) =>
    api("POST", "/orders", {
      items: [{ productId: product.id, quantity: 2 }],
      fulfillmentType: "PICKUP",
      customer: { name },
      ...more,
    });
  const complete = (order) => api("PATCH", `/orders/${order.id}/status`, { status: "COMPLETED" });
  return { api, product, place, complete };
}

/** Creates a user with a role in the first store, whose password and sessions a test can change. */
export async function newUser(role) {
  const owner = await client(userOf("OWNER"));
  const [{ storeId }] = world.stores;
  const [email, password] = [`user-${process.pid}-${++created}@example.com`, "the user's first phrase"];
  const { token } = await owner("POST", "/users", { email, name: `User ${created}`, role, storeIds: [storeId] });
  const accepted = await fetch(`${world.api}/auth/accept-invite`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token, password }),
  });
  assert.equal(accepted.status, 200, await accepted.text());
  return { email, password, role, storeIds: [storeId] };
}

/** Sets up the second factor of a user, and returns its secret and recovery codes. */
export async function withOtp(user) {
  const api = await client(user);
  const { secret } = await api("POST", "/auth/otp", { password: user.password });
  const { recoveryCodes } = await api("POST", "/auth/otp/confirm", { code: totp(secret) });
  return { secret, recoveryCodes };
}

/** Returns the code of a secret (RFC 6238), now or some steps of 30 seconds later. */
export function totp(secret, later = 0) {
  const bits = [...secret]
    .map((c) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(c).toString(2).padStart(5, "0"))
    .join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + later));
  const hash = createHmac("sha1", key).update(counter).digest();
  const code = hash.readUInt32BE(hash[19] & 15) & 0x7fffffff;
  return String(code % 1_000_000).padStart(6, "0");
}

/** Returns a pattern for a text in which the page shows times such as 14:00 as an American browser does. */
export function american(text) {
  const clock = (_, hour, minute) => `0?${hour % 12 || 12}:${minute}\\s${hour < 12 || hour === "24" ? "AM" : "PM"}`;
  return new RegExp(`^${text.replace(/(\d\d):(\d\d)/g, clock)}$`);
}

/** Calls probe until it returns a truthy value, and returns that value. */
export async function until(description, probe) {
  for (const end = Date.now() + stepLimit; ; await setTimeout(100)) {
    const value = await bounded(description, probe());
    if (value) return value;
    assert.ok(Date.now() < end, `timeout after ${stepLimit / 1000} seconds: ${description}`);
  }
}

/** Waits until the elements have these texts: a page can still show those of an earlier state. */
export async function untilTexts(locator, wanted) {
  let texts;
  const same = async () => isDeepStrictEqual((texts = await locator.allTextContents()), wanted);
  await until("the texts are shown", same).catch(() => assert.deepEqual(texts, wanted));
}

/** Presses a key until it has an effect: a busy page can lose it while it moves the focus or measures the layout. */
export async function pressUntil(page, key, locator) {
  await until(`${key} has its effect`, async () => {
    await page.keyboard.press(key);
    const seen = locator.waitFor({ state: "attached", timeout: 5000 });
    return seen.then(
      () => true,
      () => false,
    );
  });
}

/**
 * Marks the elements that look like two earlier ones: the same tags, classes and states, from the body to the element.
 * An odd and an even child can differ. Contrast takes most of the time of axe, and lists have many equal rows.
 */
const markRepeated = (page) =>
  page.evaluate(() => {
    const content = /^(id|href|for|name|value|title|datetime|data-order|aria-(label|labelledby|describedby|controls))$/;
    const looks = new Map(); // the number of each look by its text
    const numbers = new Map(); // of the looks of elements
    const seen = [];
    for (const element of document.body.querySelectorAll("*")) {
      const text = [...element.childNodes].some(
        ({ nodeType, data }) => nodeType === document.TEXT_NODE && data.trim() !== "",
      );
      const styles = [...element.attributes].filter(({ name }) => !content.test(name));
      const look = JSON.stringify([
        numbers.get(element.parentElement),
        [...element.parentElement.children].indexOf(element) % 2,
        element.tagName,
        styles.map(({ name, value }) => [name, value]),
        element.matches(":focus"),
        text,
      ]);
      if (!looks.has(look)) looks.set(look, looks.size);
      const number = looks.get(look);
      numbers.set(element, number);
      seen[number] = (seen[number] ?? 0) + 1;
      if (seen[number] > 2) element.dataset.repeated = "";
    }
  });

const unmarkRepeated = (page) =>
  page.evaluate(() => {
    for (const element of document.querySelectorAll("[data-repeated]")) delete element.dataset.repeated;
  });

const axeSource =
  axe.source + `axe.configure({ rules: [{ id: "color-contrast", selector: ":not([data-repeated])" }] });`;

/** Fails if axe finds a serious or critical violation. Checks all rules unless `rules` is given. */
export async function accessible(page, name, rules) {
  const run = new AxeBuilder({ page, axeSource }).setLegacyMode(true).options({ resultTypes: ["violations"] });
  await markRepeated(page);
  const { violations } = await bounded(`axe on ${name}`, (rules ? run.withRules(rules) : run).analyze());
  await unmarkRepeated(page);
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(
    serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`),
    [],
    name,
  );
}

/**
 * Checks the accessibility of a page in both themes, and takes a screenshot of the light one. The themes differ only in
 * colors, so the dark theme needs only the contrast rule.
 */
export async function accessibleInThemes(page, name) {
  // The transitions are finished, not awaited: those in a card that `content-visibility` skips never end.
  const dark = (on) =>
    page.evaluate((dark) => {
      document.documentElement.classList.toggle("dark", dark);
      // The end of a transition can start those of inherited colors.
      for (let round = 0; round < 10; round++) {
        const animations = document.getAnimations();
        for (const animation of animations) if ("transitionProperty" in animation) animation.finish();
      }
    }, on);
  await accessible(page, `${name} (light)`);
  await shoot(page, `${name}-light`);
  await dark(true);
  await accessible(page, `${name} (dark)`, ["color-contrast"]);
  await dark(false);
}

/** Fails if the page stays wider than the window. After a change of the window's size, the layout takes a moment. */
export async function narrow(page, name) {
  const excess = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  for (const end = Date.now() + 30_000; (await excess()) > 0 && Date.now() < end;) await setTimeout(100);
  const wide = await excess();
  assert.ok(wide <= 0, `${name} is ${wide} pixels wider than the window`);
}

/** Takes a screenshot if the screenshots flag is set. */
export async function shoot(page, name) {
  if (!world.screenshots) return;
  mkdirSync(world.screenshots, { recursive: true });
  await page.evaluate(() => document.fonts.ready);
  await page.screenshot({ path: join(world.screenshots, `${name}.png`), animations: "disabled" });
}
