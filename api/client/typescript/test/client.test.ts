import { expect, expectTypeOf, test } from "vitest";

import { ComandaError, createClient, errorOf } from "../src/index.js";
import { failure, serve, success } from "./server.js";

test("a call sends the key and its parameters, and returns the body of the response", async () => {
  const { client, requests } = serve(() => success([{ id: "ord_1" }], { limit: 20, nextCursor: null, requestId: "r" }));
  const { data, meta } = await client.GET("/orders", {
    params: { query: { status: ["RECEIVED", "CONFIRMED"], limit: 20 } },
  });
  expect(data[0]?.id).toBe("ord_1");
  expect(meta.nextCursor).toBeNull();
  expect(requests[0]).toMatchObject({ method: "GET", path: "/orders?status=RECEIVED&status=CONFIRMED&limit=20" });
  expect(requests[0]?.headers.get("Authorization")).toBe("Bearer svc_live_sk_1");
});

test("the types of a call are those of its operation", async () => {
  const { client } = serve(() => new Response(null, { status: 204 }));
  expect(await client.DELETE("/products/{id}", { params: { path: { id: "prd_1" } } })).toBeUndefined();
  // The rest is checked by the compiler only.
  const unused = async () => {
    const { data: order } = await client.GET("/orders/{id}", { params: { path: { id: "ord_1" } } });
    expectTypeOf(order.totalMinor).toEqualTypeOf<number>();
    expectTypeOf(await client.DELETE("/products/{id}", { params: { path: { id: "" } } })).toEqualTypeOf<undefined>();
    // @ts-expect-error: the path parameter is required
    await client.GET("/orders/{id}");
    // @ts-expect-error: the body is required
    await client.POST("/orders");
    // @ts-expect-error: the path has no such operation
    await client.DELETE("/orders");
    // @ts-expect-error: no such status
    await client.GET("/orders", { params: { query: { status: ["LOST"] } } });
  };
  expect(unused).toBeTypeOf("function");
});

test("an error has the members of the response", async () => {
  const { client } = serve(() =>
    Response.json(
      {
        success: false,
        error: {
          statusCode: 400,
          code: "VALIDATION_FAILED",
          message: "the request is invalid",
          details: [{ path: "items[0].quantity", message: "must be at least 1" }],
          allowedTransitions: ["CONFIRMED"],
          requestId: "req_7",
        },
      },
      { status: 400 },
    ),
  );
  const error = await client.GET("/store").catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ComandaError);
  expect(error).toMatchObject({
    name: "ComandaError",
    status: 400,
    code: "VALIDATION_FAILED",
    message: "the request is invalid",
    details: [{ path: "items[0].quantity", message: "must be at least 1" }],
    allowedTransitions: ["CONFIRMED"],
    requestId: "req_7",
  });
});

test("an error that is not the API's has its status and its request id", async () => {
  for (const body of ["<html>", "null", '{"error":"x"}', '{"error":{"code":7}}']) {
    const { client } = serve(() => new Response(body, { status: 502, headers: { "X-Request-Id": "req_8" } }));
    await expect(client.GET("/store")).rejects.toMatchObject({ status: 502, code: "UNKNOWN", requestId: "req_8" });
  }
});

test("a success that is not JSON is an error, and is not repeated", async () => {
  for (const headers of [{}, { "Content-Length": "6" }]) {
    const { client, requests } = serve(
      () => new Response("<html>", { status: 201, headers: { ...headers, "X-Request-Id": "req_8" } }),
    );
    const call = client.GET("/store");
    await expect(call).rejects.toMatchObject({
      name: "ComandaError",
      status: 201,
      code: "UNKNOWN",
      requestId: "req_8",
    });
    expect(requests).toHaveLength(1);
  }
});

test("the other forms of a body: a stream is passed on before its end, and text is not parsed", async () => {
  const { client } = serve(({ path }) =>
    path === "/events/stream" ? new Response(new ReadableStream()) : new Response("plain"),
  );
  expect(await client.GET("/events/stream", { parseAs: "stream" })).toBeInstanceOf(ReadableStream);
  expect(await client.GET("/store", { parseAs: "text" })).toBe("plain");
});

test("a response that the client did not request is read with the same function", async () => {
  expect(await errorOf(failure(429, "RATE_LIMITED", { "Retry-After": "7" }))).toMatchObject({
    status: 429,
    code: "RATE_LIMITED",
    requestId: "req_1",
    retryAfter: 7,
  });
});

test("a newer server breaks nothing: unknown members, enum values and error codes", async () => {
  const { client } = serve(({ path }) =>
    path === "/store"
      ? failure(418, "KITCHEN_CLOSED")
      : success({ id: "ord_1", status: "FLAMBEED", newMember: { deep: [1] } }, undefined, { "X-New": "1" }),
  );
  const { data } = await client.GET("/orders/{id}", { params: { path: { id: "ord_1" } } });
  expect(data).toEqual({ id: "ord_1", status: "FLAMBEED", newMember: { deep: [1] } });
  await expect(client.GET("/store")).rejects.toMatchObject({ status: 418, code: "KITCHEN_CLOSED" });
});

test("wrong credentials are refused when the client is created", () => {
  const baseUrl = "https://api.example.com";
  expect(() => createClient({ baseUrl, apiKey: "" })).toThrow(TypeError);
  expect(() => createClient({ baseUrl, apiKey: "svc_live_sk_1", tokens: { realm: "user" } })).toThrow(TypeError);
});
