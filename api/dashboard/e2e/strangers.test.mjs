import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { as, client, launch, settled, until, userOf, world } from "./world.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

/** A text for a field that would like to be more than text. */
const hostile = (field) => `"'><img src=x onerror=hacked()><script>hacked()</script>${field}`;
/** One for fields without room for that. */
const short = (field) => `<img src=x onerror=hacked()>${field}`;
const email = (name) => `"<img/src=x/onerror=hacked()>${name}"@example.com`;

/** Whatever only a payload could have made an element or an attribute of. */
const foreign = "img[src=x], [onerror], [onload], [onclick], iframe, object, script:not([src^='/dashboard/']), a[href^='javascript' i]";

/** Fills every field that a stranger can fill, and returns which page shows which of the texts. */
async function attack() {
  const store = world.stores[0].storeId;
  const ask = await client(userOf("OWNER"));
  const secret = "a secret that is long enough to be one";
  const webhook = await ask("POST", "/webhooks", { url: `${world.receiver}/hostile?<script>hacked()</script>`, events: ["order.created", "payment.failed"], secret });

  const product = await ask("POST", "/products", {
    name: hostile("product"),
    description: hostile("description"),
    category: hostile("category"),
    sku: short("sku"),
    imageUrl: "https://example.com/?javascript:hacked()",
    priceMinor: 500,
    currency: "EUR",
  });
  const translations = { "de-DE": { name: hostile("translation"), description: hostile("translated") } };
  await ask("POST", "/products", { name: "Tea", priceMinor: 300, currency: "EUR", translations });
  const address = (of) => ({
    line1: hostile(`${of} line1`),
    line2: hostile(`${of} line2`),
    city: hostile(`${of} city`),
    region: hostile(`${of} region`),
    postalCode: "<img src=x>1",
    country: "DE",
    notes: hostile(`${of} notes`),
  });
  const addressTexts = (of) => ["line1", "line2", "city", "region", "notes"].map((field) => hostile(`${of} ${field}`));
  const items = [{ productId: product.id, quantity: 1 }];
  const guest = { name: hostile("guest"), email: email("guest"), phone: "+4915112345678" };
  const order = await ask("POST", "/orders", { items, fulfillmentType: "DELIVERY", customer: guest, deliveryAddress: address("order"), note: hostile("note") });
  const paid = { amountMinor: 100, currency: "EUR", provider: "STRIPE" };
  const payment = await ask("POST", `/orders/${order.id}/payments`, { ...paid, transactionId: hostile("transaction"), paymentMethod: short("method"), status: "SUCCEEDED" });
  await ask("POST", `/orders/${order.id}/payments`, { ...paid, transactionId: hostile("failed"), paymentMethod: short("tried"), status: "FAILED", errorCode: short("code") });
  await ask("POST", `/payments/${payment.id}/refunds`, { amountMinor: 10, reason: hostile("refund"), providerRefundId: hostile("refundId") });
  const cancelled = await ask("POST", "/orders", { items, fulfillmentType: "PICKUP", customer: { name: hostile("regretful") } });
  await ask("PATCH", `/orders/${cancelled.id}/status`, { status: "CANCELLED", cancellationReason: hostile("cancelled") });

  const day = new Date(Date.now() + 40 * 86_400_000).toISOString().slice(0, 10);
  const reservation = (name) => ({ customer: { name: hostile(name), email: email(name) }, partySize: 2, startAt: `${day}T18:00:00Z`, notes: hostile(`${name} notes`) });
  await ask("POST", "/reservations", reservation("reserving"));
  const off = await ask("POST", "/reservations", reservation("ill"));
  await ask("PATCH", `/reservations/${off.id}/status`, { status: "CANCELLED", cancellationReason: hostile("illness") });

  const register = async (path, body, token) => {
    const headers = { "Content-Type": "application/json", "X-Request-Id": short("request"), ...(token && { Authorization: `Bearer ${token}` }) };
    const response = await fetch(world.api + path, { method: "POST", headers, body: JSON.stringify(body) });
    const { data, error } = await response.json();
    assert.equal(response.status, 201, JSON.stringify(error));
    return data;
  };
  const { customer, accessToken } = await register("/customer-auth/register", {
    storeId: store,
    email: email("mallory"),
    password: "mallory's own password",
    firstName: hostile("first"),
    lastName: hostile("last"),
  });
  await register(`/customers/${customer.id}/addresses`, { ...address("home"), label: short("label") }, accessToken);

  await ask("POST", "/api-keys", { name: hostile("key"), mode: "live", scopes: ["read:orders"] });
  const { token } = await ask("POST", "/users", { email: email("member"), name: hostile("invited"), role: "STAFF", storeIds: [store] });
  await ask("POST", "/auth/accept-invite", { token, password: "mallory's own password", name: hostile("member") });

  await until("the hostile receiver's answers are dead letters", async () => (await ask("GET", `/deliveries?status=dead_letter&webhookId=${webhook.id}`)).length >= 3);
  const attempts = await ask("GET", `/webhooks/${webhook.id}/deliveries`);
  const attempt = (type) => attempts.find(({ eventType }) => eventType === type).id;
  const answered = ["<script>hacked()</script>", short("")]; // the answer's body and header
  const inJSON = (text) => JSON.stringify(text).slice(1, -1); // as the event's data has it
  return [
    ["/orders", [hostile("guest"), hostile("note"), hostile("product")]],
    ["/orders?view=all", [hostile("guest"), hostile("regretful")]],
    [
      `/orders/${order.id}`,
      [hostile("guest"), email("guest"), ...addressTexts("order"), hostile("note"), hostile("product"), hostile("transaction"), hostile("failed"), short("method"), short("code"), hostile("refund")],
      [["Refund"], ["Cancel"], ["Record a payment"]],
    ],
    [`/orders/${cancelled.id}`, [hostile("regretful"), hostile("cancelled")]],
    ["/orders/new", [hostile("product"), hostile("category")]],
    [`/reservations?day=${day}`, [hostile("reserving"), email("reserving"), hostile("reserving notes"), hostile("illness")], [[`Cancel: ${hostile("reserving")}`, hostile("reserving")]]],
    ["/products", [hostile("product"), hostile("translation"), hostile("description"), hostile("translated"), hostile("category"), short("sku")], [[`Edit ${hostile("product")}`, hostile("product")], [`Delete ${hostile("product")}`, hostile("product")]]],
    ["/customers", [hostile("guest"), hostile("first"), email("mallory")]],
    [`/customers/${customer.id}`, [hostile("first"), hostile("last"), email("mallory"), ...addressTexts("home"), short("label")], [["Edit", hostile("first")]]],
    [`/customers/${order.customer.id}`, [hostile("guest")], [["Edit"]]],
    ["/analytics", [hostile("product")]],
    ["/webhooks", ["hostile?"]],
    [`/webhooks/${webhook.id}`, ["HTTP 400"], [["Edit"], ["Replay…"], ["Send a test"]]],
    [`/webhooks/${webhook.id}?attempt=${attempt("order.created")}`, [...answered, inJSON(hostile("regretful"))]],
    [`/webhooks/${webhook.id}?attempt=${attempt("payment.failed")}`, [...answered, inJSON(short("code"))]],
    ["/dead-letters", ["HTTP 400", "hostile?"], [["Replay…"]]],
    ["/settings", []],
    ["/team", [hostile("member"), email("member")]],
    ["/api-keys", [hostile("key")]],
    ["/plan", []],
    ["/audit", []],
  ];
}

describe("strangers", () => {
  it("write nothing but text", async () => {
    const pages = await attack();
    await as(browser, userOf("OWNER"), async (page) => {
      for (const [path, texts, dialogs = []] of pages) {
        await page.goto(`/dashboard${path}`);
        await settled(page);
        for (const text of texts) await page.getByText(text).filter({ visible: true }).first().waitFor();
        assert.equal(await page.locator(foreign).count(), 0, path);
        for (const [name, text] of dialogs) {
          await page.getByRole("button", { name, exact: true }).first().click();
          const dialog = page.getByRole("dialog");
          await (text ? dialog.getByText(text).first() : dialog).waitFor();
          assert.equal(await page.locator(foreign).count(), 0, `${name} of ${path}`);
          await page.keyboard.press("Escape");
          await dialog.waitFor({ state: "detached" });
        }
      }
    });
  });

  it("are text in messages, too, and where they are searched for", async () => {
    await as(browser, userOf("OWNER"), async (page) => {
      const harmless = async (where) => assert.equal(await page.locator(foreign).count(), 0, where);
      await page.goto("/dashboard/products");
      await page.getByRole("switch", { name: hostile("product") }).click();
      await page.getByText(`${hostile("product")} is not available now`).first().waitFor();
      await harmless("a message");
      await page.goto("/dashboard/customers");
      await page.getByLabel("Name, e-mail or phone").fill(hostile("fir"));
      await page.waitForURL(/q=/);
      await page.getByText(hostile("first")).first().waitFor();
      await page.getByText(hostile("guest")).waitFor({ state: "detached" });
      await harmless("the customers found");
      await page.goto("/dashboard/orders/new");
      await page.getByLabel("Find a known customer").fill(hostile("gue"));
      await page.getByRole("button", { name: hostile("guest") }).click();
      await page.getByText(email("guest")).waitFor();
      await harmless("the customer picked");
    });
  });

  it("write nothing into addresses but text", async () => {
    const text = hostile("address");
    const encoded = encodeURIComponent(text);
    await as(browser, userOf("OWNER"), async (page) => {
      for (const path of [
        `/${encoded}`,
        `/orders/${encoded}`,
        `/orders?view=all&q=${encoded}`,
        `/customers/${encoded}`,
        `/customers?q=${encoded}`,
        `/products?q=${encoded}&category=${encoded}`,
        `/reservations?day=${encoded}`,
        `/analytics?from=${encoded}&to=${encoded}&currency=${encoded}`,
        `/webhooks/${encoded}`,
        `/webhooks/${world.busy.webhookId}?eventId=${encoded}&eventType=${encoded}&attempt=${encoded}`,
        `/dead-letters?webhookId=${encoded}&reason=${encoded}`,
        `/audit?actorId=${encoded}&target=${encoded}&action=${encoded}`,
        `/accept-invite#${encoded}`,
      ]) {
        await page.goto(`/dashboard${path}`);
        await page.locator("main").locator("h1, p").first().waitFor();
        await settled(page);
        assert.equal(await page.locator(foreign).count(), 0, path);
      }
    });
  });
});
