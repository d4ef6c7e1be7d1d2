// @vitest-environment jsdom

import { afterEach, expect, test, vi } from "vitest";

import { refresh } from "./token";

afterEach(() => vi.unstubAllGlobals());

const refused = (status: number, code: string) => new Response(JSON.stringify({ error: { code } }), { status });

test.each([
  ["suspended", refused(403, "WEBSITE_SUSPENDED")],
  ["refused", refused(403, "CROSS_ORIGIN")],
  ["refused", refused(403, "HTTPS_REQUIRED")],
  ["refused", new Response("<h1>Forbidden</h1>", { status: 403 })], // of a proxy
  ["ended", refused(401, "TOKEN_REVOKED")],
  ["unreachable", refused(503, "UNAVAILABLE")],
])("a refresh is %s", async (result, response) => {
  vi.stubGlobal("fetch", () => Promise.resolve(response));
  expect(await refresh("stale")).toEqual({ result });
});
