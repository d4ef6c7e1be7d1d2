import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { Client } from "../src/index.js";
import { failure, serve, success } from "./server.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const placeOrder = (client: Client, signal?: AbortSignal) =>
  client.POST("/orders", {
    body: { fulfillmentType: "PICKUP", items: [{ productId: "prd_1", quantity: 1 }] },
    ...(signal && { signal }),
  });
const quote = (client: Client) =>
  client.POST("/orders/quote", { body: { fulfillmentType: "PICKUP", items: [{ productId: "prd_1", quantity: 1 }] } });

/** Returns the result of a call, or its error, after all waits. The time of each request is in `at`. */
async function settle<T>(call: Promise<T>): Promise<T> {
  const settled = call.then(
    (value) => () => value,
    (reason: unknown) => () => {
      throw reason;
    },
  );
  await vi.runAllTimersAsync();
  return (await settled)();
}

test("a POST that accepts a key has the same one in every repetition, and another in another call", async () => {
  const refusals = [failure(503, "UNAVAILABLE", { "Retry-After": "1" }), new TypeError("fetch failed")];
  const { client, requests } = serve(() => refusals.shift() ?? success({ id: "ord_1" }));
  expect((await settle(placeOrder(client))).data.id).toBe("ord_1");
  await settle(placeOrder(client));
  const keys = requests.map(({ headers }) => headers.get("Idempotency-Key"));
  expect(keys).toHaveLength(4);
  expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
  expect(new Set(keys.slice(0, 3)).size).toBe(1);
  expect(keys[3]).not.toBe(keys[0]);
  expect(new Set(requests.map(({ body }) => body)).size).toBe(1);
});

test("a change of an order is repeated with its key", async () => {
  const refusals = [failure(503, "UNAVAILABLE", { "Retry-After": "1" })];
  const { client, requests } = serve(() => refusals.shift() ?? success({ id: "ord_1" }));
  const params = { path: { id: "ord_1" }, header: { "If-Match": '"1"' } };
  await settle(client.PATCH("/orders/{id}", { params, body: { note: "no nuts" } }));
  const keys = requests.map(({ headers }) => headers.get("Idempotency-Key"));
  expect(keys).toEqual([expect.any(String), keys[0]]);
});

test("a key of the caller is kept, and operations without keys get none", async () => {
  const { client, requests } = serve(() => success({}));
  await client.POST("/webhooks/{id}/test", { params: { path: { id: "whk_1" } } });
  await client.POST("/products/{id}/stock", {
    params: { path: { id: "prd_1" }, header: { "Idempotency-Key": "mine" } },
    body: { delta: 1 },
  });
  expect(requests.map(({ headers }) => headers.get("Idempotency-Key"))).toEqual([null, "mine"]);
});

test("429 is repeated for every operation after Retry-After", async () => {
  const { client, requests } = serve((_, i) =>
    i === 0 ? failure(429, "RATE_LIMITED", { "Retry-After": "7" }) : success({ totalMinor: 1 }),
  );
  const start = Date.now();
  expect((await settle(quote(client))).data.totalMinor).toBe(1);
  expect(Date.now() - start).toBe(7000);
  expect(requests).toHaveLength(2);
});

test("Retry-After may be a date", async () => {
  const at = new Date(Date.now() + 5000).toUTCString();
  const { client } = serve((_, i) => (i === 0 ? failure(429, "RATE_LIMITED", { "Retry-After": at }) : success({})));
  const start = Date.now();
  await settle(quote(client));
  expect(Date.now() - start).toBeGreaterThan(3000);
  expect(Date.now() - start).toBeLessThanOrEqual(5000);
});

test("a request that may have been processed is repeated only if it is safe", async () => {
  for (const refusal of [
    () => failure(503, "UNAVAILABLE", { "Retry-After": "1" }),
    () => new TypeError("fetch failed"),
  ]) {
    const { client, requests } = serve(refusal);
    const path = { id: "x" };
    await expect(settle(quote(client))).rejects.toThrow();
    await expect(settle(client.POST("/deliveries/{id}/retry", { params: { path } }))).rejects.toThrow();
    await expect(settle(client.PATCH("/store", { body: { storeName: "Roma" } }))).rejects.toThrow();
    await expect(settle(client.DELETE("/users/{id}", { params: { path } }))).rejects.toThrow();
    expect(requests).toHaveLength(4);
    await expect(settle(client.GET("/store"))).rejects.toThrow();
    expect(requests).toHaveLength(8);
  }
});

test("a body that breaks is no response: the request is repeated with its key, if it has one", async () => {
  const cut = () => {
    const chunks = ['{"success":true,"da'];
    return new ReadableStream<Uint8Array>({
      pull(controller) {
        const chunk = chunks.shift();
        if (chunk) controller.enqueue(new TextEncoder().encode(chunk));
        else controller.error(new TypeError("terminated"));
      },
    });
  };
  for (const status of [201, 500]) {
    const { client, requests } = serve((_, i) =>
      i === 0
        ? new Response(cut(), { status })
        : success({ id: "ord_1" }, undefined, { "Idempotency-Replayed": "true" }),
    );
    expect((await settle(placeOrder(client))).data.id).toBe("ord_1");
    const keys = requests.map(({ headers }) => headers.get("Idempotency-Key"));
    expect(keys).toEqual([expect.any(String), keys[0]]);
  }
  const { client, requests } = serve(() => new Response(cut()));
  await expect(settle(quote(client))).rejects.toMatchObject({
    name: "ComandaError",
    code: "UNREACHABLE",
    cause: { message: "terminated" },
  });
  expect(requests).toHaveLength(1);
});

test("a response without content may have an empty body, as in Chromium", async () => {
  const { client } = serve(() => {
    const body = new ReadableStream({ start: (controller) => controller.close() });
    return Object.defineProperty(new Response(null, { status: 204 }), "body", { value: body });
  });
  await expect(settle(placeOrder(client))).resolves.toBeUndefined();
});

test("a key in use is awaited: the earlier request with it is still running", async () => {
  const responses = [new TypeError("fetch failed"), failure(409, "IDEMPOTENCY_KEY_IN_USE", { "Retry-After": "1" })];
  const { client, requests } = serve(() => responses.shift() ?? success({ id: "ord_1" }));
  expect((await settle(placeOrder(client))).data.id).toBe("ord_1");
  expect(requests).toHaveLength(3);
});

test("other errors are not repeated", async () => {
  for (const status of [400, 401, 404, 409, 422, 500]) {
    const { client, requests } = serve(() => failure(status, "CODE"));
    await expect(settle(placeOrder(client))).rejects.toMatchObject({ status });
    expect(requests).toHaveLength(1);
  }
});

test("attempts and waits are bounded", async () => {
  const busy = serve(() => failure(503, "UNAVAILABLE", { "Retry-After": "1" }));
  await expect(settle(busy.client.GET("/store"))).rejects.toMatchObject({ status: 503, retryAfter: 1 });
  expect(busy.requests).toHaveLength(4);

  const patient = serve(() => failure(429, "RATE_LIMITED", { "Retry-After": "25" }));
  const start = Date.now();
  await expect(settle(patient.client.GET("/store"))).rejects.toMatchObject({ status: 429, retryAfter: 25 });
  expect(Date.now() - start).toBe(50_000);
  expect(patient.requests).toHaveLength(3);

  const never = serve(() => failure(503, "UNAVAILABLE"), { apiKey: "k", retry: { attempts: 1 } });
  await expect(settle(never.client.GET("/store"))).rejects.toMatchObject({ status: 503 });
  expect(never.requests).toHaveLength(1);
});

test("without any response, the error has the cause", async () => {
  const cause = new TypeError("fetch failed");
  const { client, requests } = serve(() => cause);
  await expect(settle(client.GET("/store"))).rejects.toMatchObject({ status: 0, code: "UNREACHABLE", cause });
  expect(requests).toHaveLength(4);
});

test("an abort ends a wait and prevents further requests", async () => {
  const { client, requests } = serve(() => failure(503, "UNAVAILABLE", { "Retry-After": "30" }));
  const controller = new AbortController();
  const call = placeOrder(client, controller.signal);
  const rejected = expect(call).rejects.toThrow("enough");
  await vi.advanceTimersByTimeAsync(10_000);
  controller.abort(new Error("enough"));
  await rejected;
  expect(requests).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(0);

  await expect(placeOrder(client, AbortSignal.abort(new Error("before")))).rejects.toThrow("before");
  expect(requests).toHaveLength(1);
});
