import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { authorized } from "./client";
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

const create = async (name: string) =>
  (await authorized(new Request("https://comanda.test/api-keys", { method: "POST", body: name }))).status;

test("concurrent requests ask once, and are repeated with their bodies after the proof", async () => {
  const stop = onProofAsked(() => {});
  const both = Promise.all([create("one"), create("two")]);
  await expect.poll(() => bodies.length).toBe(2);
  await expect.poll(isProofAsked).toBe(true);
  proven = true;
  settleProof(true);
  expect(await both).toEqual([201, 201]);
  expect(isProofAsked()).toBe(false);
  expect(bodies.slice(2).sort()).toEqual(bodies.slice(0, 2).sort());
  expect(bodies).toHaveLength(4);
  stop();
});

test("a request is refused if the user does not prove the identity", async () => {
  const stop = onProofAsked(() => queueMicrotask(() => settleProof(false)));
  expect(await create("one")).toBe(403);
  expect(bodies).toHaveLength(1);
  stop();
});

test("a request is refused if there is no dialog, or it disappears", async () => {
  expect(await create("one")).toBe(403);
  const stop = onProofAsked(() => {});
  const refused = create("two");
  await expect.poll(isProofAsked).toBe(true);
  stop();
  expect(await refused).toBe(403);
});
