import type { webhooks } from "./generated/schema.js";

/** The type of an event. Later releases add types: respond with 2xx to unknown types. */
export type EventType = keyof webhooks;

/** The event of a type, or of any type. `type` tells them apart. */
export type WebhookEvent<T extends EventType = EventType> = {
  [K in T]: webhooks[K]["post"]["requestBody"]["content"]["application/json"];
}[T];

/**
 * The reason for which a request is not genuine. `MISSING_HEADER`: a header is missing or malformed. `SIGNATURE`: no
 * signature matches. `STALE`: the signature matches, but the timestamp is outside the tolerance. `MALFORMED`: the
 * signature matches, but the body is not an event.
 */
export type WebhookErrorCode = "MISSING_HEADER" | "SIGNATURE" | "STALE" | "MALFORMED";

export class WebhookError extends Error {
  override readonly name = "WebhookError";
  readonly code: WebhookErrorCode;
  /** The HTTP status for a response to the request. */
  readonly status: number;

  constructor(code: WebhookErrorCode, message: string) {
    super(message);
    this.code = code;
    this.status = code === "MALFORMED" ? 400 : 401;
  }
}

export interface VerifyOptions {
  /** The secret of the webhook. While you rotate it, the new and the previous one. */
  secret: string | readonly string[];
  /** The maximum difference between the timestamp and now in seconds, in both directions. Default: 300. */
  tolerance?: number;
  /** The current time in milliseconds. Default: `Date.now`. */
  now?: () => number;
}

/** The headers of a request: those of `Request`, or of `IncomingMessage` in Node. */
export type HeadersLike =
  Pick<Headers, "get"> | Readonly<Record<string, string | readonly string[] | number | null | undefined>>;

/** The minimum length of a secret in characters. It rejects an unset variable, with which anyone could sign. */
const minSecret = 32;

/**
 * Verifies a request to a webhook and returns its event. `body` has the bytes as they arrived: a parsed body that is
 * encoded again differs. Bound its size (1 MiB is enough) when you read it. Throws a WebhookError if the request is not
 * genuine, and a TypeError if a secret is too short.
 *
 * The signature is in `X-Webhook-Signature`, or in the headers of Standard Webhooks. If a request has both, one must
 * match: during the rotation of a secret, only the headers of Standard Webhooks also carry a signature with the
 * previous secret. Events are delivered at least once: skip those with an `id` that you have processed.
 */
export async function verify(
  headers: HeadersLike,
  body: Uint8Array | ArrayBuffer,
  { secret, tolerance = 300, now = Date.now }: VerifyOptions,
): Promise<WebhookEvent> {
  if (typeof body === "string") throw new TypeError("body must have the bytes of the request, not a string");
  const keys = await Promise.all(secrets(secret).map(importKey));
  const bytes = new Uint8Array(body);
  const timestamp = await signedTimestamp((name) => headerOf(headers, name), bytes, keys);
  const off = Math.abs(now() / 1000 - timestamp);
  if (!(off <= tolerance)) throw new WebhookError("STALE", `the timestamp differs from now by ${Math.round(off)} s`);
  return parse(bytes);
}

function secrets(secret: string | readonly string[]): readonly string[] {
  const all = typeof secret === "string" ? [secret] : (secret ?? []);
  if (all.length === 0) throw new TypeError("no secret was given");
  if (all.some((one) => [...(one ?? "")].length < minSecret))
    throw new TypeError(`a secret has fewer than ${minSecret} characters`);
  return all;
}

const utf8 = new TextEncoder();

const importKey = (secret: string) =>
  globalThis.crypto.subtle.importKey("raw", utf8.encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);

function headerOf(headers: HeadersLike, name: string): string | undefined {
  if (typeof headers.get === "function") return (headers as Pick<Headers, "get">).get(name) ?? undefined;
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name);
  const value = found?.[1];
  return value === undefined || value === null ? undefined : String(Array.isArray(value) ? value[0] : value);
}

type Lookup = (name: string) => string | undefined;

/** The content of the signature headers. */
interface Claim {
  timestamp: string;
  prefix: string; // the signed bytes before the body
  signatures: Uint8Array[]; // one of them must match
}

/** Returns the timestamp in seconds if a signature of the request matches. */
async function signedTimestamp(header: Lookup, body: Uint8Array, keys: CryptoKey[]): Promise<number> {
  const claims: (Claim | string)[] = [];
  if (header("x-webhook-signature") !== undefined) claims.push(readSpec(header));
  if (header("webhook-signature") !== undefined) claims.push(readStandard(header));
  for (const claim of claims)
    if (typeof claim === "object" && (await matches(claim, body, keys))) return Number(claim.timestamp);
  const [first = "x-webhook-signature"] = claims;
  if (typeof first === "object") throw new WebhookError("SIGNATURE", "the signature does not match");
  throw new WebhookError("MISSING_HEADER", `the header ${first} is missing or malformed`);
}

/** Returns the claim of the headers X-Webhook-…, or the name of a header that is missing or malformed. */
function readSpec(header: Lookup): Claim | string {
  const timestamp = header("x-webhook-timestamp") ?? "";
  if (!/^\d{1,12}$/.test(timestamp)) return "x-webhook-timestamp";
  return { timestamp, prefix: `${timestamp}.`, signatures: fromHex(header("x-webhook-signature") ?? "") };
}

/** Returns the claim of the headers of Standard Webhooks, or the name of a header that is missing or malformed. */
function readStandard(header: Lookup): Claim | string {
  const timestamp = header("webhook-timestamp") ?? "";
  if (!/^\d{1,12}$/.test(timestamp)) return "webhook-timestamp";
  const id = header("webhook-id");
  if (!id) return "webhook-id";
  const parts = (header("webhook-signature") ?? "").split(/\s+/).filter((part) => part.startsWith("v1,"));
  return { timestamp, prefix: `${id}.${timestamp}.`, signatures: parts.flatMap((part) => fromBase64(part.slice(3))) };
}

const fromHex = (text: string) =>
  /^([0-9a-f]{2})+$/i.test(text) ? [Uint8Array.from(text.match(/../g)!, (pair) => parseInt(pair, 16))] : [];

function fromBase64(text: string): Uint8Array[] {
  try {
    return [Uint8Array.from(atob(text), (character) => character.charCodeAt(0))];
  } catch {
    return [];
  }
}

/** Reports whether a signature of a claim was made with one of the keys. Compares all of them. */
async function matches(claim: Claim, body: Uint8Array, keys: CryptoKey[]): Promise<boolean> {
  const prefix = utf8.encode(claim.prefix);
  const signed = new Uint8Array(prefix.length + body.length);
  signed.set(prefix);
  signed.set(body, prefix.length);
  const wanted = await Promise.all(keys.map((key) => globalThis.crypto.subtle.sign("HMAC", key, signed)));
  let match = false;
  for (const want of wanted)
    for (const signature of claim.signatures) match = equal(new Uint8Array(want), signature) || match;
  return match;
}

/** Compares two signatures in a time that depends only on their lengths. */
function equal(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a[i]! ^ b[i]!;
  return difference === 0;
}

function parse(body: Uint8Array): WebhookEvent {
  let event: Partial<WebhookEvent> | null;
  try {
    event = JSON.parse(new TextDecoder().decode(body));
  } catch {
    throw new WebhookError("MALFORMED", "the body is not JSON");
  }
  if (typeof event?.id !== "string" || typeof event.type !== "string" || !event.id || !event.type)
    throw new WebhookError("MALFORMED", "the body is not an event: id or type is missing");
  return event as WebhookEvent;
}

/**
 * Keeps the highest position of each resource in memory, so that a receiver can ignore deliveries that arrive out of
 * order. It forgets the least recently used resources beyond `limit`, and everything when the program ends: a receiver
 * that stores the state of resources also stores the positions, in the same transaction.
 */
export class LastPosition {
  readonly #positions = new Map<string, number>(); // the least recently used resource first
  readonly #limit: number;

  constructor(limit = 10_000) {
    this.#limit = Math.max(1, limit);
  }

  /**
   * Reports whether a later event of the resource has been passed to it. Respond with 2xx to an outdated event, and
   * ignore it. Another attempt of the latest event is not outdated. Events without a position are never outdated, and
   * neither are `payment.*`, which report payments and not the state of their order. `headers` are the request's.
   */
  isOutdated(headers: HeadersLike, event: Pick<WebhookEvent, "type">): boolean {
    const position = Number(headerOf(headers, "x-webhook-position") ?? 0);
    const resource = headerOf(headers, "x-webhook-resource");
    if (!resource || !Number.isSafeInteger(position) || position <= 0 || event.type.startsWith("payment."))
      return false;
    const last = this.#positions.get(resource) ?? 0;
    this.#positions.delete(resource);
    this.#positions.set(resource, Math.max(last, position));
    for (const oldest of this.#positions.keys()) {
      if (this.#positions.size <= this.#limit) break;
      this.#positions.delete(oldest);
    }
    return position < last;
  }
}
