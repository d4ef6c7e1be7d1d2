import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";

import { expect, expectTypeOf, test } from "vitest";

import { LastPosition, verify, type VerifyOptions } from "../src/webhooks.js";

const secret = "whsec_0123456789abcdef0123456789abcdef";
const other = "whsec_fedcba9876543210fedcba9876543210";
const at = 1_773_489_600;
const event = { id: "evt_1", type: "order.created", storeId: "sto_1", data: { name: "Zoë 寿司" } };
const text = JSON.stringify(event);
const bytes = (body: string) => new TextEncoder().encode(body);

interface Sent {
  body?: string;
  secrets?: string[];
  time?: number | string;
}

/** The headers that the service sends: X-Webhook-Signature with the first secret, the standard's with all. */
function sign({ body = text, secrets = [secret], time = at }: Sent = {}) {
  const mac = (key: string, signed: string) => createHmac("sha256", key).update(signed);
  return {
    "x-webhook-id": "evt_1",
    "x-webhook-timestamp": `${time}`,
    "x-webhook-signature": mac(secrets[0]!, `${time}.${body}`).digest("hex"),
    "webhook-id": "evt_1",
    "webhook-timestamp": `${time}`,
    "webhook-signature": secrets.map((key) => `v1,${mac(key, `evt_1.${time}.${body}`).digest("base64")}`).join(" "),
  };
}

type Signed = Partial<ReturnType<typeof sign>>;

const check = (headers: Signed, options: Partial<VerifyOptions> = {}, body = text) =>
  verify(headers, bytes(body), { secret, now: () => at * 1000, ...options });

const without = (headers: Signed, ...names: (keyof Signed)[]) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name as keyof Signed))) as Signed;
const specOnly = (headers: Signed) => without(headers, "webhook-id", "webhook-timestamp", "webhook-signature");
const standardOnly = (headers: Signed) =>
  without(headers, "x-webhook-id", "x-webhook-timestamp", "x-webhook-signature");

test("it accepts the signatures of the service", async () => {
  for (const headers of [sign(), specOnly(sign()), standardOnly(sign())]) expect(await check(headers)).toEqual(event);
  const upper = Object.fromEntries(Object.entries(sign()).map(([name, value]) => [name.toUpperCase(), value]));
  expect(await check(upper as Signed)).toEqual(event);
  expect(await verify(new Headers(sign()), bytes(text).buffer, { secret, now: () => at * 1000 })).toEqual(event);
});

test("the type tells the members of the data", async () => {
  const received = await check(sign());
  if (received.type === "payment.succeeded") expectTypeOf(received.data.amountMinor).toEqualTypeOf<number>();
  expect(received.type).toBe("order.created");
});

test("it accepts the shared test vectors", async () => {
  const file = new URL("../../../../app/testdata/signatures.json", import.meta.url);
  const vectors = JSON.parse(readFileSync(file, "utf8")) as Record<string, string>[];
  expect(vectors.length).toBeGreaterThan(5);
  for (const vector of vectors) {
    const { timestamp, id, body, xWebhookSignature, webhookSignature, name } = vector as Record<string, string>;
    for (const headers of [
      { "x-webhook-timestamp": `${timestamp}`, "x-webhook-signature": xWebhookSignature! },
      { "webhook-id": id!, "webhook-timestamp": `${timestamp}`, "webhook-signature": webhookSignature! },
    ]) {
      const verified = verify(headers, bytes(body!), { secret: vector.secret!, now: () => Number(timestamp) * 1000 });
      // Most bodies are not events, so that the signature is the only check that they pass.
      const code = await verified.then(() => "", (reason: { code: string }) => reason.code); // prettier-ignore
      expect(["", "MALFORMED"], `${name}: ${code}`).toContain(code);
    }
  }
});

test("during a rotation, it accepts either secret", async () => {
  const rotating = sign({ secrets: [other, secret] }); // only the standard's header carries the previous secret
  expect(await check(rotating)).toEqual(event);
  expect(await check(rotating, { secret: other })).toEqual(event);
  expect(await check(sign({ secrets: [other] }), { secret: [secret, other] })).toEqual(event);
  await expect(check(specOnly(rotating))).rejects.toMatchObject({ code: "SIGNATURE" });
});

test("it refuses forgeries", async () => {
  const genuine = sign();
  for (const [name, headers, body] of [
    ["unknown secret", sign({ secrets: [other] }), text],
    ["modified body", genuine, text.replace("order", "event")],
    ["body encoded again", genuine, JSON.stringify(event, null, 1)],
    ["modified timestamp", { ...genuine, "x-webhook-timestamp": `${at + 1}`, "webhook-timestamp": `${at + 1}` }, text],
    ["modified id", { ...standardOnly(genuine), "webhook-id": "evt_2" }, text],
    ["truncated", { ...specOnly(genuine), "x-webhook-signature": genuine["x-webhook-signature"].slice(0, 62) }, text],
    ["longer", { ...specOnly(genuine), "x-webhook-signature": genuine["x-webhook-signature"] + "00" }, text],
    ["empty", { ...specOnly(genuine), "x-webhook-signature": "" }, text],
    ["not hexadecimal", { ...specOnly(genuine), "x-webhook-signature": "ключ" }, text],
    ["not base64", { ...standardOnly(genuine), "webhook-signature": "v1,ключ v1, v1" }, text],
    ["another version", { ...standardOnly(genuine), "webhook-signature": genuine["webhook-signature"].slice(3) }, text],
  ] as [string, Signed, string][])
    await expect(check(headers, {}, body), name).rejects.toMatchObject({ code: "SIGNATURE", status: 401 });
});

test("it names a missing header", async () => {
  for (const [headers, missing] of [
    [{}, "x-webhook-signature"],
    [without(specOnly(sign()), "x-webhook-timestamp"), "x-webhook-timestamp"],
    [specOnly(sign({ time: "soon" })), "x-webhook-timestamp"],
    [without(standardOnly(sign()), "webhook-timestamp"), "webhook-timestamp"],
    [without(standardOnly(sign()), "webhook-id"), "webhook-id"],
  ] as [Signed, string][]) {
    await expect(check(headers)).rejects.toMatchObject({ code: "MISSING_HEADER", status: 401 });
    await expect(check(headers)).rejects.toThrow(`the header ${missing} is`);
  }
});

test("it refuses timestamps outside the tolerance", async () => {
  for (const time of [at - 300, at + 300]) expect(await check(sign({ time }))).toEqual(event);
  for (const time of [at - 301, at + 301])
    await expect(check(sign({ time }))).rejects.toMatchObject({ code: "STALE", status: 401 });
  expect(await check(sign({ time: at - 500 }), { tolerance: 600 })).toEqual(event);
  await expect(verify(sign(), bytes(text), { secret })).rejects.toMatchObject({ code: "STALE" });
});

test("it refuses bodies that are not events", async () => {
  for (const body of ["", "null", "[]", "{", '{"id":"evt_1"}', '{"id":"","type":"x"}', '{"id":1,"type":"x"}'])
    await expect(check(sign({ body }), {}, body)).rejects.toMatchObject({ code: "MALFORMED", status: 400 });
});

test("unknown types and members break nothing", async () => {
  const body = '{"id":"evt_1","type":"order.flambeed","data":{"new":1},"new":[]}';
  expect(await check(sign({ body }), {}, body)).toEqual(JSON.parse(body));
});

test("missing and short secrets, and decoded bodies, are errors of the program", async () => {
  for (const none of ["", "short", [], [secret, ""], undefined as unknown as string])
    await expect(check(sign(), { secret: none })).rejects.toThrow(TypeError);
  await expect(verify(sign(), text as never, { secret })).rejects.toThrow(TypeError);
});

test("it ignores events before the last position of their resource", () => {
  const last = new LastPosition(2);
  const outdated = (resource: string, position: number | string, type: "order.created" | "payment.failed") =>
    last.isOutdated({ "X-Webhook-Resource": resource, "x-webhook-position": `${position}` }, { type });
  expect(outdated("order/1", 5, "order.created")).toBe(false);
  expect(outdated("order/1", 4, "order.created")).toBe(true);
  expect(outdated("order/1", 5, "order.created")).toBe(false); // another attempt
  expect(outdated("order/1", 1, "payment.failed")).toBe(false);
  expect(outdated("order/1", "x", "order.created")).toBe(false);
  expect(outdated("order/2", 1, "order.created")).toBe(false);
  expect(outdated("order/1", Number.MAX_SAFE_INTEGER, "order.created")).toBe(false);
  expect(outdated("order/1", Number.MAX_SAFE_INTEGER - 1, "order.created")).toBe(true);
  expect(outdated("order/3", 1, "order.created")).toBe(false); // order/2 is forgotten
  expect(outdated("order/1", 1, "order.created")).toBe(true);
  expect(outdated("order/2", 0.5, "order.created")).toBe(false);
});
