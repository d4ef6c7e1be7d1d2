import { expect, test, vi } from "vitest";

import type { SessionOptions, Tokens } from "../src/index.js";
import { failure, type Received, serve, success } from "./server.js";

/** A service with one session, whose tokens are numbered. It records each use of a refresh token. */
function service(
  options: Partial<SessionOptions> = {},
  refresh?: (request: Received) => Response | Error | undefined | Promise<undefined>,
) {
  const changes: Tokens[] = [];
  const used: (string | null)[] = [];
  const state = { valid: "access-1", count: 1 };
  const issue = (data: object) =>
    success({ accessToken: state.valid, ...data }, undefined, {
      "Set-Cookie": `refreshToken=refresh-${state.count}; Path=/; HttpOnly; Secure; SameSite=Strict`,
    });
  const { client, requests } = serve(
    async (request) => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (request.path === "/auth/login") return issue({ user: {}, stores: [] });
      if (request.path === "/auth/switch-store") return success({ accessToken: "access-switched" });
      if (request.path === "/auth/logout") return success({ message: "bye" });
      if (request.path === "/auth/refresh") {
        used.push(request.headers.get("Cookie"));
        const refusal = await refresh?.(request);
        if (refusal) return refusal;
        state.valid = `access-${++state.count}`;
        return issue({});
      }
      const sent = request.headers.get("Authorization");
      if (sent === `Bearer ${state.valid}`) return success({ storeId: "sto_1" });
      return failure(401, sent ? "TOKEN_EXPIRED" : "TOKEN_INVALID");
    },
    { tokens: { realm: "user", onChange: (tokens) => changes.push(tokens), ...options } },
  );
  return { client, requests, state, used, changes };
}

const login = { body: { email: "ada@example.com", password: "a long password" } };

test("a login gives the tokens, and a logout removes them", async () => {
  const { client, requests, changes } = service();
  await client.POST("/auth/login", login);
  await client.GET("/store");
  expect(requests.at(-1)?.headers.get("Authorization")).toBe("Bearer access-1");
  await client.POST("/auth/logout");
  expect(requests.at(-1)?.headers.get("Cookie")).toBe("refreshToken=refresh-1");
  expect(changes).toEqual([{ accessToken: "access-1", refreshToken: "refresh-1" }, {}]);
  await expect(client.GET("/store")).rejects.toMatchObject({ code: "TOKEN_INVALID" });
  expect(requests.map(({ path }) => path)).toEqual(["/auth/login", "/store", "/auth/logout", "/store"]);
});

test("concurrent calls with an expired token share one refresh, and are repeated once", async () => {
  const { client, requests, state, used, changes } = service({ accessToken: "old", refreshToken: "refresh-1" });
  state.valid = "access-9";
  const stores = await Promise.all(Array.from({ length: 10 }, () => client.GET("/store")));
  expect(stores.map(({ data }) => data.storeId)).toEqual(Array(10).fill("sto_1"));
  expect(used).toEqual(["refreshToken=refresh-1"]);
  expect(requests).toHaveLength(21);
  expect(changes).toEqual([{ accessToken: "access-2", refreshToken: "refresh-2" }]);
  state.valid = "access-10";
  await client.GET("/store");
  expect(used).toEqual(["refreshToken=refresh-1", "refreshToken=refresh-2"]);
});

test("a new page has only the cookie, and gets a token with the first call", async () => {
  const { client, used } = service();
  expect((await client.GET("/store")).data.storeId).toBe("sto_1");
  expect(used).toHaveLength(1);
});

test("the end of the session is the error of the calls, and nothing refreshes until a login", async () => {
  const { client, used, changes, state } = service({ accessToken: "old", refreshToken: "r" }, () =>
    failure(401, "TOKEN_REVOKED"),
  );
  state.valid = "access-9";
  const errors = await Promise.allSettled([client.GET("/store"), client.GET("/store")]);
  for (const error of errors) expect(error).toMatchObject({ status: "rejected", reason: { code: "TOKEN_REVOKED" } });
  await expect(client.GET("/store")).rejects.toMatchObject({ code: "TOKEN_INVALID" });
  expect(used).toHaveLength(1);
  expect(changes).toEqual([{}]);
  await client.POST("/auth/login", login);
  expect((await client.GET("/store")).data.storeId).toBe("sto_1");
});

test("a refresh that may have been processed is not repeated, and ends the session", async () => {
  const broken = () => new ReadableStream({ pull: (controller) => controller.error(new TypeError("terminated")) });
  const losses = [
    () => failure(503, "UNAVAILABLE", { "Retry-After": "0" }),
    () => new TypeError("fetch failed"),
    () => new TypeError("fetch failed", { cause: { code: "ECONNRESET" } }),
    () => new Response(broken()),
    () => new Response("<html>"),
  ];
  for (const loss of losses) {
    const { client, used, changes } = service({ accessToken: "old", refreshToken: "r" }, () =>
      used.length === 1 ? loss() : undefined,
    );
    await expect(client.GET("/store")).rejects.toMatchObject({ name: "ComandaError" });
    await expect(client.GET("/store")).rejects.toMatchObject({ code: "TOKEN_INVALID" });
    expect(used).toHaveLength(1);
    expect(changes).toEqual([{}]);
    await client.POST("/auth/login", login);
    expect((await client.GET("/store")).data.storeId).toBe("sto_1");
  }
});

test("a refresh that was not sent keeps the session", async () => {
  const causes = [{ code: "ECONNREFUSED" }, { code: "ENOTFOUND" }, { code: "EAI_AGAIN" }];
  const { client, used, changes } = service({ accessToken: "old", refreshToken: "r" }, () => {
    const cause = causes.shift();
    return cause && new TypeError("fetch failed", { cause });
  });
  for (let left = causes.length; left > 0; left--)
    await expect(client.GET("/store")).rejects.toMatchObject({ code: "UNREACHABLE" });
  expect(changes).toEqual([]);
  expect((await client.GET("/store")).data.storeId).toBe("sto_1");
  expect(used).toEqual(Array(4).fill("refreshToken=r"));
});

test("a browser keeps its session if a refresh is lost: only the service knows which cookie it has", async () => {
  const { client, used } = service({ accessToken: "old" }, () =>
    used.length === 1 ? new TypeError("fetch failed") : undefined,
  );
  await expect(client.GET("/store")).rejects.toMatchObject({ code: "UNREACHABLE" });
  expect((await client.GET("/store")).data.storeId).toBe("sto_1");
});

test("a refresh without a response ends after 60 seconds", async () => {
  const timeout = new AbortController();
  const timeouts = vi.spyOn(AbortSignal, "timeout").mockReturnValue(timeout.signal);
  const { client, used } = service({ accessToken: "old", refreshToken: "r" }, ({ signal }) => {
    timeout.abort(new DOMException("too late", "TimeoutError"));
    return signal.aborted ? (signal.reason as Error) : undefined;
  });
  await expect(client.GET("/store")).rejects.toMatchObject({ code: "UNREACHABLE", cause: { name: "TimeoutError" } });
  expect(timeouts.mock.calls).toEqual([[60_000]]);
  timeouts.mockRestore();
  await expect(client.GET("/store")).rejects.toMatchObject({ code: "TOKEN_INVALID" });
  expect(used).toHaveLength(1);
});

test("a refresh that overlaps a switch of the store keeps both new tokens", async () => {
  const { client, state, used, changes } = service({ accessToken: "access-1", refreshToken: "refresh-1" }, async () => {
    if (used.length === 1) await client.POST("/auth/switch-store", { body: { storeId: "sto_2" } });
    return undefined;
  });
  await client.POST("/auth/refresh");
  expect(changes).toEqual([
    { accessToken: "access-switched", refreshToken: "refresh-1" },
    { accessToken: "access-switched", refreshToken: "refresh-2" },
  ]);
  state.valid = "access-9";
  await client.GET("/store");
  expect(used).toEqual(["refreshToken=refresh-1", "refreshToken=refresh-2"]);
});

test("a login or a logout during a refresh has the last word", async () => {
  const { client, used, changes } = service({ accessToken: "access-1", refreshToken: "r" }, async () => {
    await client.POST("/auth/logout");
    return undefined;
  });
  await client.POST("/auth/refresh");
  expect(used).toHaveLength(1);
  expect(changes).toEqual([{}]);
});

test("the error of a public operation is not replaced by that of a refresh without a session", async () => {
  const reset = (refusal: Response | Error) => {
    const { client } = service({}, () => refusal);
    return client.POST("/auth/password-reset/confirm", { body: { token: "t", password: "a long password" } });
  };
  const refused = { status: 401, code: "TOKEN_INVALID", requestId: "req_1" };
  await expect(reset(failure(401, "TOKEN_REVOKED"))).rejects.toMatchObject(refused);
  // A page that begins with a cookie must not take an outage for the end of its session.
  await expect(reset(new TypeError("fetch failed"))).rejects.toMatchObject({ code: "UNREACHABLE" });
});

test("a refresh with the status 429 is repeated, a bounded number of times", async () => {
  const { client, used } = service({ accessToken: "old", refreshToken: "r" }, () =>
    failure(429, "RATE_LIMITED", { "Retry-After": "0" }),
  );
  await expect(client.GET("/store")).rejects.toMatchObject({ code: "RATE_LIMITED" });
  expect(used).toHaveLength(4);
});

test("a token that stays expired after a refresh is an error", async () => {
  const { client, requests } = serve(
    ({ path }) => (path === "/auth/refresh" ? success({ accessToken: "new" }) : failure(401, "TOKEN_EXPIRED")),
    { tokens: { realm: "user", accessToken: "old" } },
  );
  await expect(client.GET("/store")).rejects.toMatchObject({ code: "TOKEN_EXPIRED" });
  expect(requests.map(({ path }) => path)).toEqual(["/store", "/auth/refresh", "/store"]);
});

test("an abort ends the call but not the refresh that others wait for", async () => {
  let finish = () => {};
  const { client, used } = service({ accessToken: "old", refreshToken: "r" }, () => {
    return new Promise<undefined>((resolve) => (finish = () => resolve(undefined)));
  });
  const controller = new AbortController();
  const aborted = client.GET("/store", { signal: controller.signal });
  const other = client.GET("/store");
  const rejected = expect(aborted).rejects.toThrow("enough");
  while (used.length === 0) await new Promise((resolve) => setTimeout(resolve, 0));
  controller.abort(new Error("enough"));
  await rejected;
  finish();
  expect((await other).data.storeId).toBe("sto_1");
  expect(used).toHaveLength(1);
});

test("an explicit refresh shares the refresh of other calls", async () => {
  const { client, used, state } = service({ accessToken: "old", refreshToken: "r" });
  state.valid = "access-9";
  await Promise.all([client.POST("/auth/refresh"), client.POST("/auth/refresh"), client.GET("/store")]);
  expect(used.length).toBeLessThanOrEqual(2);
  expect(new Set(used).size).toBe(used.length);
});

test("a customer's session uses its own cookie and operations", async () => {
  const { client, requests } = serve(
    ({ path, headers }) =>
      path === "/customer-auth/refresh"
        ? success({ accessToken: "new" }, undefined, { "Set-Cookie": "customerRefreshToken=c2; Path=/" })
        : headers.get("Authorization") === "Bearer new"
          ? success([])
          : failure(401, "TOKEN_EXPIRED"),
    { tokens: { realm: "customer", accessToken: "old", refreshToken: "c1" } },
  );
  await client.GET("/customers");
  expect(requests[1]?.path).toBe("/customer-auth/refresh");
  expect(requests[1]?.headers.get("Cookie")).toBe("customerRefreshToken=c1");
  expect(requests[1]?.headers.get("Authorization")).toBeNull();
});
