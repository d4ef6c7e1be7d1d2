import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { api } from "./client";
import { isProofAsked, onProofAsked, settleProof } from "./proof";

let proven = false;
let bodies: string[] = [];

beforeEach(() => {
  proven = false;
  bodies = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    bodies.push(await request.text());
    const error = { statusCode: 403, code: "REAUTHENTICATION_REQUIRED", message: "no", requestId: "req_1" };
    return proven
      ? Response.json({ success: true, data: {} }, { status: 201 })
      : Response.json({ success: false, error }, { status: 403 });
  });
});
afterEach(() => vi.unstubAllGlobals());

const create = (name: string) => api.POST("/api-keys", { body: { name, scopes: ["read:orders"] } });

test("concurrent requests ask once, and are repeated with their bodies after the proof", async () => {
  const stop = onProofAsked(() => {});
  const both = Promise.all([create("one"), create("two")]);
  await expect.poll(() => bodies.length).toBe(2);
  await expect.poll(isProofAsked).toBe(true);
  proven = true;
  settleProof(true);
  await both;
  expect(isProofAsked()).toBe(false);
  expect(bodies.slice(2).sort()).toEqual(bodies.slice(0, 2).sort());
  expect(bodies).toHaveLength(4);
  stop();
});

test("a request is refused if the user does not prove the identity", async () => {
  const stop = onProofAsked(() => queueMicrotask(() => settleProof(false)));
  await expect(create("one")).rejects.toMatchObject({ code: "REAUTHENTICATION_REQUIRED" });
  expect(bodies).toHaveLength(1);
  stop();
});

test("a request is refused if there is no dialog, or it disappears", async () => {
  await expect(create("one")).rejects.toMatchObject({ code: "REAUTHENTICATION_REQUIRED" });
  const stop = onProofAsked(() => {});
  const refused = expect(create("two")).rejects.toMatchObject({ code: "REAUTHENTICATION_REQUIRED" });
  await expect.poll(isProofAsked).toBe(true);
  stop();
  await refused;
});
