// Takes the screenshots of docs/operating-webhooks.md in the real Temporal UI. It needs Chromium (the variable
// CHROMIUM, by default /usr/bin/chromium) and about three minutes. Start Comanda without earlier data and with short
// retry delays:
//   rm -rf /tmp/comanda-screenshots
//   COMANDA_RETRY_SCHEDULE=1s,2s,3s,4s,1m go run ./app/dev --data /tmp/comanda-screenshots
// Then, in another terminal, in api/dashboard:
//   node e2e/temporal-screenshots.mjs /tmp/comanda-screenshots/ready.json ../../docs/images
import { mkdirSync, readFileSync, statSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { chromium } from "playwright-core";

const largest = 150_000; // bytes of a screenshot

const [readyFile, directory] = process.argv.slice(2);
const ready = JSON.parse(readFileSync(readyFile));
const ca = readFileSync(ready.caFile);
const owner = ready.users[0];
const store = owner.storeIds[0];
mkdirSync(directory, { recursive: true });

// api calls Comanda's API and returns the data of the response.
function api(method, path, body, token) {
  return new Promise((resolve, reject) => {
    const headers = { "Content-Type": "application/json" };
    if (token) headers.Authorization = `Bearer ${token}`;
    const call = request(new URL(path, ready.apiUrl), { method, ca, headers }, (response) => {
      let text = "";
      response
        .on("data", (chunk) => (text += chunk))
        .on("end", () => {
          if (response.statusCode >= 300) return reject(new Error(`${method} ${path}: ${response.statusCode} ${text}`));
          resolve(JSON.parse(text).data);
        });
    });
    call.on("error", reject).end(body && JSON.stringify(body));
  });
}

// until calls check until it returns a truthy value, which it returns.
async function until(what, check) {
  for (let tries = 0; tries < 600; tries++) {
    const result = await check();
    if (result) return result;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  throw new Error(`timeout while waiting for ${what}`);
}

const { accessToken } = await api("POST", "/auth/login", {
  email: owner.email,
  password: owner.password,
  storeId: store,
});
const [product] = await api("GET", "/products?limit=1", null, accessToken);
const webhook = await api(
  "POST",
  "/webhooks",
  {
    url: `${ready.receiverUrl}?fail=503`,
    events: ["order.created"],
    secret: ready.receiverSecret,
  },
  accessToken,
);

const order = () =>
  api(
    "POST",
    "/orders",
    {
      items: [{ productId: product.id, quantity: 2 }],
      fulfillmentType: "PICKUP",
      customer: { name: "Ada" },
    },
    accessToken,
  );
const deliveries = (status) =>
  api("GET", `/deliveries?webhookId=${webhook.id}&status=${status}&limit=100`, null, accessToken);

console.log("place two orders and wait until their deliveries are dead letters");
await order();
await order();
await until("dead letters", async () => (await deliveries("dead_letter")).length >= 2);
console.log("place an order and wait until its delivery has failed five times");
await order();
const retrying = await until("five failures", async () => (await deliveries("retrying")).find((d) => d.attempts === 5));
const [dead] = await deliveries("dead_letter");

// Without subpixel rendering the text is grey, and the files are half as large.
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-lcd-text"],
});
const page = await browser.newPage({
  viewport: { width: 1280, height: 680 },
  colorScheme: "light",
  timezoneId: "UTC",
  locale: "en-US",
});
await page.addInitScript((namespace) => {
  const columns = ["Status", "ComandaDeliveryState", "ComandaEventType", "Start", "Workflow ID"].map((label) => ({
    label,
  }));
  localStorage.setItem("namespace-workflow-table-columns", JSON.stringify({ [namespace]: columns }));
}, ready.temporalNamespace);

const workflows = `${ready.temporalUiUrl}/namespaces/${ready.temporalNamespace}/workflows`;
const list = (query) => page.goto(`${workflows}?query=${encodeURIComponent(query)}`);
// open opens the page of a delivery's latest run.
async function open(delivery) {
  await page.goto(`${workflows}/${encodeURIComponent(`delivery/${delivery.eventId}/${delivery.webhookId}`)}`);
  await page.waitForURL(/timeline/);
  await seen("Event History");
}

// tab clicks on a tab until the page changes.
async function tab(name) {
  const before = page.url();
  await until(name, async () => {
    await page.getByText(name, { exact: true }).locator("visible=true").first().click();
    return page.url() !== before;
  });
}

// seen waits for a text in the page or one of its frames, because details are in a frame.
const seen = (text) =>
  until(text, async () => {
    for (const frame of page.frames()) {
      if (await frame.getByText(text).locator("visible=true").count()) return true;
    }
  });

// shoot waits for a text in the page, then takes a screenshot.
async function shoot(name, text) {
  await seen(text);
  await page.evaluate(() => document.fonts.ready);
  const path = join(directory, `${name}.png`);
  await page.screenshot({ path, animations: "disabled" });
  const { size } = statSync(path);
  if (size > largest) throw new Error(`${path} has ${size} bytes`);
  console.log(path, size);
}

await open(retrying);
await tab("User Metadata");
await shoot("delivery-retrying", /attempt 5 of 6 failed: .* next at/);
await list(`ComandaIds = "${store}"`);
await shoot("everything-of-a-store", "retrying");
await list(`ComandaIds = "${webhook.id}" AND ComandaDeliveryState = "dead_letter"`);
await shoot("dead-letters", "dead_letter");

await open(dead);
await page.mouse.move(1000, 600); // outside the input, which scrolls separately
await page.mouse.wheel(0, 560);
await shoot("delivery-timeline", "the dead letter expires");
await page.mouse.wheel(0, -2000);
await tab("Queries");
await page.getByRole("button", { name: "Run Query" }).click();
await shoot("delivery-state", "expiresAt");

console.log("repair the receiver and replay the dead letter");
await api("PATCH", `/webhooks/${webhook.id}`, { url: ready.receiverUrl }, accessToken);
await page.getByRole("button", { name: "More Actions" }).click();
await page.getByText("Send a Signal").locator("visible=true").first().click();
await page.locator('[data-menu-anchor="signal-select-select"] button').locator("visible=true").first().click();
await page.getByRole("option", { name: "replay" }).locator("visible=true").first().click();
await shoot("replay", "json/plain");
await page.getByRole("button", { name: "Submit" }).locator("visible=true").first().click();
await until(
  "the replay",
  async () => (await api("GET", `/deliveries/${dead.id}`, null, accessToken)).status === "delivered",
);
await open(dead);
await tab("User Metadata");
await shoot("delivery-replayed", "delivered by attempt 7");
await browser.close();
