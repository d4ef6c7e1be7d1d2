import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { as, client, launch, settled, until, userOf, world } from "./world.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

/** Returns a script injection payload for a field. */
const hostile = (field) => `"'><img src=x onerror=hacked()><script>hacked()</script>${field}`;
/** Returns a payload for a field with a short maximum length. */
const short = (field) => `<img src=x onerror=hacked()>${field}`;
const email = (name) => `"<img/src=x/onerror=hacked()>${name}"@example.com`;

/** Matches elements and attributes that only an executed payload can create. */
const foreign =
  "img[src=x], [onerror], [onload], [onclick], iframe, object, " +
  "script:not([src^='/dashboard/']), a[href^='javascript' i]";

/** Stores payloads in every field that others can write. Returns pages, their expected texts and their dialogs. */
async function attack() {
  const store = world.stores[0].storeId;
  const api = await client(userOf("OWNER"));
  const secret = "a secret that is long enough to be one";
  const webhook = await api("POST", "/webhooks", {
    url: `${world.receiver}/hostile?<script>hacked()</script>`,
    events: ["order.created", "payment.failed"],
    secret,
  });

  const product = await api("POST", "/products", {
    name: hostile("product"),
    description: hostile("description"),
    category: hostile("category"),
    sku: short("sku"),
    imageUrl: "https://example.com/?javascript:hacked()",
    priceMinor: 500_000, // the first of the products sold, whatever other tests sell
    currency: "EUR",
  });
  const translations = { "de-DE": { name: hostile("translation"), description: hostile("translated") } };
  await api("POST", "/products", { name: "Tea", priceMinor: 300, currency: "EUR", translations });
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
  const order = await api("POST", "/orders", {
    items,
    fulfillmentType: "DELIVERY",
    customer: guest,
    deliveryAddress: address("order"),
    note: hostile("note"),
  });
  const paid = { amountMinor: 100, currency: "EUR", provider: "STRIPE" };
  const payment = await api("POST", `/orders/${order.id}/payments`, {
    ...paid,
    transactionId: hostile("transaction"),
    paymentMethod: short("method"),
    status: "SUCCEEDED",
  });
  await api("POST", `/orders/${order.id}/payments`, {
    ...paid,
    transactionId: hostile("failed"),
    paymentMethod: short("tried"),
    status: "FAILED",
    errorCode: short("code"),
  });
  await api("POST", `/payments/${payment.id}/refunds`, {
    amountMinor: 10,
    reason: hostile("refund"),
    providerRefundId: hostile("refundId"),
  });
  const cancelled = await api("POST", "/orders", {
    items,
    fulfillmentType: "PICKUP",
    customer: { name: hostile("regretful") },
  });
  await api("PATCH", `/orders/${cancelled.id}/status`, {
    status: "CANCELLED",
    cancellationReason: hostile("cancelled"),
  });

  const day = new Date(Date.now() + 40 * 86_400_000).toISOString().slice(0, 10);
  const reservation = (name) => ({
    customer: { name: hostile(name), email: email(name) },
    partySize: 2,
    startAt: `${day}T18:00:00Z`,
    notes: hostile(`${name} notes`),
  });
  await api("POST", "/reservations", reservation("reserving"));
  const off = await api("POST", "/reservations", reservation("ill"));
  await api("PATCH", `/reservations/${off.id}/status`, { status: "CANCELLED", cancellationReason: hostile("illness") });

  const register = async (path, body, token) => {
    const headers = {
      "Content-Type": "application/json",
      "X-Request-Id": short("request"),
      ...(token && { Authorization: `Bearer ${token}` }),
    };
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

  await api("POST", "/api-keys", { name: hostile("key"), mode: "live", scopes: ["read:orders"] });
  const { token } = await api("POST", "/users", {
    email: email("member"),
    name: hostile("invited"),
    role: "STAFF",
    storeIds: [store],
  });
  await api("POST", "/auth/accept-invite", { token, password: "mallory's own password", name: hostile("member") });

  await until(
    "the deliveries to the hostile receiver are dead letters",
    async () => (await api("GET", `/deliveries?status=dead_letter&webhookId=${webhook.id}`)).length >= 3,
  );
  const attempts = await api("GET", `/webhooks/${webhook.id}/deliveries`);
  const attempt = (type, of) => attempts.find((one) => one.eventType === type && one.orderId === of.id).id;
  const received = ["<script>hacked()</script>", short("")]; // the body and a header of the response
  const inJSON = (text) => JSON.stringify(text).slice(1, -1); // as in the event's JSON
  return [
    ["/orders", [hostile("guest"), hostile("note"), hostile("product")]],
    ["/orders?view=all", [hostile("guest"), hostile("regretful")]],
    [
      `/orders/${order.id}`,
      [
        hostile("guest"),
        email("guest"),
        ...addressTexts("order"),
        hostile("note"),
        hostile("product"),
        hostile("transaction"),
        hostile("failed"),
        short("method"),
        short("code"),
        hostile("refund"),
      ],
      [["Refund"], ["Cancel"], ["Record payment"]],
    ],
    [`/orders/${cancelled.id}`, [hostile("regretful"), hostile("cancelled")]],
    ["/orders/new", [hostile("product"), hostile("category")]],
    [
      `/reservations?day=${day}`,
      [hostile("reserving"), email("reserving"), hostile("reserving notes"), hostile("illness")],
      [[`Cancel: ${hostile("reserving")}`, hostile("reserving")]],
    ],
    [
      "/products",
      [
        hostile("product"),
        hostile("translation"),
        hostile("description"),
        hostile("translated"),
        hostile("category"),
        short("sku"),
      ],
      [
        [`Edit ${hostile("product")}`, hostile("product")],
        [`Delete ${hostile("product")}`, hostile("product")],
      ],
    ],
    ["/customers", [hostile("guest"), hostile("first"), email("mallory")]],
    [
      `/customers/${customer.id}`,
      [hostile("first"), hostile("last"), email("mallory"), ...addressTexts("home"), short("label")],
      [["Edit", hostile("first")]],
    ],
    [`/customers/${order.customer.id}`, [hostile("guest")], [["Edit"]]],
    ["/analytics", [hostile("product")]],
    ["/webhooks", ["hostile?"]],
    [`/webhooks/${webhook.id}`, ["HTTP 400"], [["Edit"], ["Replay…"], ["Send test"]]],
    [
      `/webhooks/${webhook.id}?attempt=${attempt("order.created", cancelled)}`,
      [...received, inJSON(hostile("regretful"))],
    ],
    [`/webhooks/${webhook.id}?attempt=${attempt("payment.failed", order)}`, [...received, inJSON(short("code"))]],
    ["/dead-letters", ["HTTP 400", "hostile?"], [["Replay…"]]],
    ["/settings", []],
    ["/team", [hostile("member"), email("member")]],
    ["/api-keys", [hostile("key")]],
    ["/plan", []],
    ["/audit", []],
  ];
}

describe("injection payloads", () => {
  it("in stored fields are rendered as text", async () => {
    const pages = await attack();
    await as(browser, userOf("OWNER"), async (page) => {
      for (const [path, texts, dialogs = []] of pages) {
        await page.goto(`/dashboard${path}`);
        await settled(page);
        for (const text of texts) {
          const shown = page.getByText(text).filter({ visible: true }).first();
          await shown.waitFor().catch((cause) => assert.fail(`${path} does not show ${text}: ${cause.message}`));
        }
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

  it("in toasts and search fields are rendered as text", async () => {
    await as(browser, userOf("OWNER"), async (page) => {
      const harmless = async (where) => assert.equal(await page.locator(foreign).count(), 0, where);
      await page.goto("/dashboard/products");
      await page.getByRole("button", { name: `Availability of ${hostile("product")}: Available` }).click();
      await page.getByRole("menuitem", { name: "Unavailable until further notice" }).click();
      await page
        .getByText(`${hostile("product")} is unavailable`)
        .first()
        .waitFor();
      await harmless("a message");
      await page.goto("/dashboard/customers");
      await page.getByLabel("Name, email or phone").fill(hostile("fir"));
      await page.waitForURL(/q=/);
      await page.getByText(hostile("first")).first().waitFor();
      await page.getByText(hostile("guest")).waitFor({ state: "detached" });
      await harmless("the customers found");
      await page.goto("/dashboard/orders/new");
      await page.getByLabel("Find a customer").fill(hostile("gue"));
      await page.getByRole("button", { name: hostile("guest") }).click();
      await page.getByText(email("guest")).waitFor();
      await harmless("the customer picked");
    });
  });

  it("in URLs are rendered as text", async () => {
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
