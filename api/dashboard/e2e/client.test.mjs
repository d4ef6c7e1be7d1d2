// Tests the package @comanda/client of api/client/typescript against the service, in Node and in Chromium.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import { after, before, describe, it } from "node:test";

import { build } from "vite";

import { as, launch, until, world } from "./world.mjs";

const directory = fileURLToPath(new URL("../../client/typescript/", import.meta.url));
const installed = existsSync(`${directory}node_modules`);
const skip = !installed && !process.env.CI && "npm ci was not run in api/client/typescript";
const secret = "a secret of more than 32 characters";

/** Runs the compiler of the package. */
function compile(...args) {
  const options = { cwd: directory, encoding: "utf8", timeout: 120_000 };
  const { status, stdout, stderr, error } = spawnSync(
    process.execPath,
    ["node_modules/typescript/bin/tsc", ...args],
    options,
  );
  assert.equal(status, 0, `${error ?? "tsc"}: ${stdout}${stderr}`);
}

/** Listens on a free port and returns it. */
const listen = (server) =>
  new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server.address().port)));

describe("@comanda/client", { skip }, () => {
  const owner = { email: "owner@enoteca.example", password: "the owner's own phrase" };
  let browser, comanda, webhooks, apiKey;

  before(async () => {
    browser = await launch();
    compile("-p", "tsconfig.build.json");
    comanda = await import(`${directory}dist/index.js`);
    webhooks = await import(`${directory}dist/webhooks.js`);

    const platform = comanda.createClient({ baseUrl: world.api, tokens: { realm: "user" } });
    const { email, password } = world.platformAdmin;
    await platform.POST("/auth/login", { body: { email, password } });
    const { data: website } = await platform.POST("/platform/websites", {
      body: {
        name: "Enoteca",
        domain: "enoteca.example",
        owner: { name: "Ada Lovelace", email: owner.email },
        store: {
          name: "Enoteca Sud",
          countryCode: "IT",
          timezone: "Europe/Rome",
          views: [{ locale: "it-IT", currency: "EUR" }],
        },
      },
    });
    const user = comanda.createClient({ baseUrl: world.api, tokens: { realm: "user" } });
    await user.POST("/auth/accept-invite", { body: { token: website.invitation.token, password: owner.password } });
    for (const name of ["Polenta", "Ribollita", "Risotto"])
      await user.POST("/products", { body: { name, priceMinor: 1250, currency: "EUR" } });
    const scopes = ["read:products", "write:orders", "webhooks:manage"];
    apiKey = (await user.POST("/api-keys", { body: { name: "Till", scopes } })).data.key;
  });
  after(() => browser?.close());

  it("runs the program of docs/integrate.md, from the key to the webhook", async () => {
    const [, section] = readFileSync(new URL("../../../docs/integrate.md", import.meta.url), "utf8").split(
      "\n## Use the API\n",
    );
    const [, code] = section.split("\n## ")[0].match(/\n```ts\n([^]*?\n)```\n/);
    // In the directory of the package, its name resolves to itself.
    mkdirSync(`${directory}.integrate`, { recursive: true });
    writeFileSync(`${directory}.integrate/program.ts`, code);
    const options = ["--module", "nodenext", "--target", "es2022", "--strict", "--skipLibCheck", "--types", "node"];
    compile(...options, ".integrate/program.ts");

    const free = createServer();
    const port = await listen(free);
    await new Promise((resolve) => free.close(resolve));
    const program = spawn(process.execPath, [".integrate/program.js"], {
      cwd: directory,
      env: {
        ...process.env,
        COMANDA_URL: world.api,
        COMANDA_API_KEY: apiKey,
        WEBHOOK_URL: `${world.receiver}/forward/${port}`,
        WEBHOOK_SECRET: secret,
        PORT: port,
      },
    });
    let output = "";
    for (const stream of [program.stdout, program.stderr]) stream.on("data", (text) => (output += text));
    try {
      await until("the program receives the event", () => {
        assert.equal(program.exitCode, null, output);
        return output.includes("\n");
      });
      const client = comanda.createClient({ baseUrl: world.api, apiKey });
      const [paid] = (await client.GET("/payments")).data;
      assert.equal(paid?.amountMinor, 2500, output);
      const { data: order } = await client.GET("/orders/{id}", { params: { path: { id: paid.order.id } } });
      assert.equal(output.split("\n")[0], `order ${order.orderId} is paid`); // it may be delivered several times

      const sender = connect(port, "127.0.0.1"); // closes in the middle of the body
      const closed = new Promise((resolve) =>
        sender
          .on("error", () => {})
          .on("close", resolve)
          .resume(),
      );
      sender.end("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{");
      await closed;
      const [webhook] = (await client.GET("/webhooks")).data;
      const { data: test } = await client.POST("/webhooks/{id}/test", { params: { path: { id: webhook.id } } });
      assert.equal(test.statusCode, 204, output);
    } finally {
      program.kill();
    }
  });

  it("works in Chromium: a session with its cookie, an order, and the verification of a webhook", async () => {
    const deliveries = [];
    const receiver = createServer(async (request, response) => {
      deliveries.push({ headers: request.headers, body: Buffer.concat(await request.toArray()).toString("base64") });
      response.writeHead(204).end();
    });
    const url = `${world.receiver}/forward/${await listen(receiver)}`;
    const bundle = await build({
      root: directory,
      configFile: false,
      logLevel: "error",
      build: { write: false, lib: { entry: ["src/index.ts", "src/webhooks.ts"], formats: ["es"] } },
    });
    try {
      await as(browser, null, async (page, context) => {
        // A page of the same origin, as a storefront behind the same host. It has no Content-Security-Policy.
        await context.route(`${world.api}/storefront/**`, (route) => {
          const name = new URL(route.request().url()).pathname.split("/").at(-1);
          const file = bundle[0].output.find(({ fileName }) => fileName === name);
          return file
            ? route.fulfill({ contentType: "text/javascript", body: file.code })
            : route.fulfill({ contentType: "text/html", body: "<!doctype html><title>Storefront</title>" });
        });
        let refreshes = 0;
        page.on("request", (request) => (refreshes += new URL(request.url()).pathname === "/auth/refresh"));
        await page.goto(`${world.api}/storefront/`);
        await page.evaluate(async (owner) => {
          const { createClient } = await import("/storefront/index.js");
          const client = createClient({ baseUrl: "/", tokens: { realm: "user" } });
          await client.POST("/auth/login", { body: owner });
        }, owner);
        await page.reload();
        const paid = await page.evaluate(
          async ({ url, secret }) => {
            const { createClient, paginate } = await import("/storefront/index.js");
            const client = createClient({ baseUrl: "/", tokens: { realm: "user" } });
            await Promise.all([client.GET("/store"), client.GET("/store"), client.GET("/settings")]);
            await client.POST("/webhooks", { body: { url, events: ["payment.succeeded"], secret } });
            const menu = [];
            for await (const product of paginate(client, "/products")) menu.push(product);
            const items = [{ productId: menu[0].id, quantity: 2 }];
            const order = { fulfillmentType: "PICKUP", customer: { name: "Ada Lovelace" }, items };
            const { data: quote } = await client.POST("/orders/quote", { body: order });
            const body = { ...order, expectedTotalMinor: quote.totalMinor };
            const { data: placed } = await client.POST("/orders", { body });
            const { data: payment } = await client.POST("/orders/{id}/payments", {
              params: { path: { id: placed.id } },
              body: {
                provider: "cash-desk",
                transactionId: placed.id,
                status: "SUCCEEDED",
                amountMinor: placed.totalMinor,
                currency: placed.currency,
                paymentMethod: "cash",
              },
            });
            return payment;
          },
          { url, secret },
        );
        assert.equal(paid.amountMinor, 2500);
        assert.equal(refreshes, 1);

        const delivery = await until("the webhook is delivered", () => deliveries[0]);
        const body = Buffer.from(delivery.body, "base64");
        const event = await webhooks.verify(delivery.headers, body, { secret });
        assert.equal(event.data.paymentId, paid.id);
        const verified = await page.evaluate(
          async ({ headers, body, secret }) => {
            const { verify } = await import("/storefront/webhooks.js");
            const bytes = Uint8Array.from(atob(body), (character) => character.charCodeAt(0));
            const event = await verify(headers, bytes, { secret });
            bytes[0] ^= 1;
            const forged = await verify(headers, bytes, { secret }).catch(({ code }) => code);
            return { id: event.id, forged };
          },
          { ...delivery, secret },
        );
        assert.deepEqual(verified, { id: event.id, forged: "SIGNATURE" });
      });
    } finally {
      receiver.close();
    }
  });
});
