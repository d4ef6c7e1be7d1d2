// Measures the board in Chromium (`task bench:board`): the time from the navigation until it shows all open orders, and
// from a tap until the moved card is painted. Prints the medians in milliseconds as JSON, and all values to stderr.
import { client, launch, logIn, userOf, visitor, world } from "./world.mjs";

const rounds = 9;
const api = await client(userOf("STAFF"));
const products = (await api("GET", "/products?limit=100"))
  .filter(({ stockQuantity }) => stockQuantity === undefined)
  .slice(0, 3);
const statuses = ["RECEIVED", "CONFIRMED", "PREPARING", "READY", "OUT_FOR_DELIVERY"];

async function place(number) {
  const order = await api("POST", "/orders", {
    items: products.map(({ id }) => ({ productId: id, quantity: 2 })),
    fulfillmentType: "DELIVERY",
    deliveryAddress: { line1: "Calle de la Luna 1", city: "Madrid", postalCode: "28004", country: "ES" },
    customer: { name: `Guest ${number}` },
  });
  const status = statuses[number % statuses.length];
  if (status !== "RECEIVED") await api("PATCH", `/orders/${order.id}/status`, { status });
}

let placed = 0;
async function placeUntil(count) {
  while (placed < count) await Promise.all(Array.from({ length: 10 }, () => place(placed++)));
}

/** Runs in the page: records when the board is complete, and how long each tap on a step takes. */
function record() {
  globalThis.taps = [];
  const painted = (then) => requestAnimationFrame(() => setTimeout(() => then(performance.now())));
  const when = (ready, then) => (ready() ? painted(then) : requestAnimationFrame(() => when(ready, then)));
  globalThis.opened = (orders) =>
    new Promise((resolve) => {
      const counts = () =>
        [...document.querySelectorAll("section > h2 > span")].map((span) => Number(span.textContent));
      when(() => counts().reduce((sum, count) => sum + count, 0) === orders, resolve);
    });
  addEventListener(
    "click",
    ({ target, timeStamp }) => {
      const id = target.closest("[data-step]")?.closest("[data-order]").dataset.order;
      const moved = () => document.querySelector(`section[aria-label=Confirmed] [data-order="${id}"]`);
      if (id) when(moved, (now) => globalThis.taps.push(now - timeStamp));
    },
    true,
  );
}

/** Opens the board and returns the time until it shows all orders. */
async function open(page) {
  await page.goto("about:blank");
  await page.goto(`${world.api}/dashboard/orders`, { waitUntil: "commit" });
  return page.evaluate((orders) => globalThis.opened(orders), placed);
}

const values = { "cold-ms": [], "warm-ms": [], "tap-ms": [] };
const browser = await launch();
let storageState;

/** Runs work on a page of a browser context whose caches are empty, logged in. */
async function onPage(work) {
  const { context } = await visitor(browser, { storageState, hasTouch: true });
  const page = await context.newPage();
  if (!storageState) await logIn(page, userOf("STAFF"));
  await page.addInitScript(record);
  await work(page);
  storageState = await context.storageState(); // the cookie of the session changes with each use
  await context.close();
}

try {
  await placeUntil(500);
  await onPage(open);
  for (let i = 0; i < rounds; i++)
    await onPage(async (page) => {
      values["cold-ms"].push(await open(page));
      await open(page); // compiled scripts are cached when they are loaded again
      values["warm-ms"].push(await open(page));
    });
  await placeUntil(600);
  await onPage(async (page) => {
    await open(page);
    for (let i = 1; i <= rounds; i++) {
      await page.getByRole("region", { name: "Received" }).locator("[data-step]").first().tap();
      await page.waitForFunction((count) => globalThis.taps.length === count, i);
    }
    values["tap-ms"] = await page.evaluate(() => globalThis.taps);
  });
} finally {
  await browser.close();
}
const median = (sorted) => sorted[Math.floor(sorted.length / 2)];
const medians = {};
for (const [name, times] of Object.entries(values)) {
  const sorted = times.map(Math.round).sort((a, b) => a - b);
  console.error(`${name}: ${sorted.join(" ")}`);
  medians[name] = median(sorted);
}
console.log(JSON.stringify(medians));
