import createFetchClient, { type FetchResponse, type MaybeOptionalInit } from "openapi-fetch";

import { ComandaError, errorOf, parse } from "./error.js";
import { idempotent } from "./generated/operations.js";
import type { paths } from "./generated/schema.js";
import { defaultPolicy, type RetryPolicy, waitFor, withRetries } from "./retry.js";
import { Session, type SessionOptions } from "./session.js";

export interface ClientOptions {
  /** The address of the service, for example `https://api.example.com`. */
  baseUrl: string;
  /** An API key. Do not give one to a browser: everyone who opens the page can read it. */
  apiKey?: string;
  /** A session of a user or a customer. Give either `apiKey` or `tokens`, or none for public operations. */
  tokens?: SessionOptions;
  /** The bounds of repetitions. */
  retry?: Partial<RetryPolicy>;
  /** Default: the global `fetch`. */
  fetch?: (request: Request) => Promise<Response>;
}

/** The milliseconds in which a refresh must respond: all calls wait for it, and their signals do not end it. */
const refreshTimeout = 60_000;

type Verb = "get" | "post" | "put" | "patch" | "delete";

/** The paths that have an operation with a method. */
export type PathWith<M extends Verb> = {
  [P in keyof paths]: paths[P] extends { [K in M]: { responses: unknown } } ? P : never;
}[keyof paths];

type Operation<P extends keyof paths, M extends Verb> =
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the constraint of FetchResponse
  paths[P][M] extends Record<string | number, any> ? paths[P][M] : never;

/** The parameters, body and fetch options (such as `signal`) of an operation. */
export type Init<P extends keyof paths, M extends Verb> = MaybeOptionalInit<paths[P], M>;

/** The argument with the Init, which can be omitted if no member is required. */
export type InitArgument<I> = undefined extends I ? [init?: I] : [init: I];

/** The body of the successful response of an operation: `{ success, data, meta }`, or undefined for 204. */
export type Result<P extends keyof paths, M extends Verb, I = Init<P, M>> = [Content<P, M, I>] extends [never]
  ? undefined
  : Content<P, M, I>;

type Content<P extends keyof paths, M extends Verb, I> = NonNullable<
  FetchResponse<Operation<P, M>, I, `${string}/${string}`>["data"]
>;

/** Calls an operation by its path in the document. Throws a ComandaError, or the reason of an aborted signal. */
export type Method<M extends Verb> = <P extends PathWith<M>, I extends Init<P, M>>(
  path: P,
  ...init: InitArgument<I>
) => Promise<Result<P, M, I>>;

export interface Client {
  GET: Method<"get">;
  POST: Method<"post">;
  PUT: Method<"put">;
  PATCH: Method<"patch">;
  DELETE: Method<"delete">;
}

/**
 * Returns a client of the API. It repeats requests that the service asks to repeat: those with the status 429 always,
 * and those that may have been processed (503, or no response) only if they are safe: GET, and those with an
 * Idempotency-Key. It sends such a key with each operation that accepts one, the same key in every repetition. Give a
 * key of your own, in `params.header`, to repeat a call after a restart of your program.
 */
export function createClient({ baseUrl, apiKey, tokens, retry, fetch = globalThis.fetch }: ClientOptions): Client {
  if (apiKey !== undefined && tokens) throw new TypeError("give either apiKey or tokens");
  if (apiKey === "") throw new TypeError("apiKey is empty");
  const policy = { ...defaultPolicy, ...retry };
  const session = tokens && new Session(tokens);

  const requests = createFetchClient<paths>({
    baseUrl,
    // The API never redirects. Cookies belong to sessions; with an API key, they would only be a risk.
    redirect: "error",
    credentials: session ? "include" : "omit",
    ...(apiKey && { headers: { Authorization: `Bearer ${apiKey}` } }),
  });
  requests.use({
    async onRequest({ request, schemaPath, options }) {
      const response = await exchange(request, schemaPath, options.parseAs === "stream").catch((cause: unknown) => {
        throw request.signal.aborted ? request.signal.reason : unreachable(cause);
      });
      if (response.ok) return response;
      throw await errorOf(response);
    },
  });

  /** Sends a request with all repetitions. */
  async function exchange(request: Request, path: string, streamed: boolean): Promise<Response> {
    const keyed = idempotent.has(`${request.method} ${path}`);
    if (keyed && !request.headers.has("Idempotency-Key"))
      request.headers.set("Idempotency-Key", globalThis.crypto.randomUUID());
    const repeatable = keyed || request.method === "GET";
    return withRetries(request, repeatable, policy, (attempt) => authorized(attempt, path, streamed));
  }

  /** Sends one request. If its access token has expired, renews the token and repeats the request once. */
  async function authorized(request: Request, path: string, streamed: boolean): Promise<Response> {
    if (!session) return received(request, streamed);
    if (path === session.refreshPath) return renewed(session, session.accessToken, request.signal);
    const repetition = request.clone();
    const used = session.accessToken;
    session.authorize(request, path);
    let response = await received(request, streamed);
    if (await session.needsToken(response, used)) {
      try {
        if (session.accessToken === used) await renewed(session, used, request.signal);
      } catch (error) {
        const none = error instanceof ComandaError && error.status === 401;
        if (used || !none) throw error;
        return response; // there is no session, and the operation may need none
      }
      session.authorize(repetition, path);
      response = await received(repetition, streamed);
    }
    if (response.ok) await session.adopt(response, path);
    return response;
  }

  /** Sends a request and reads its response, so that a body that breaks counts as no response. */
  async function received(request: Request, streamed: boolean): Promise<Response> {
    const response = await fetch(request);
    if (!response.body || (streamed && response.ok)) return response;
    const body = await response.arrayBuffer();
    // In Chromium, a response with 204 has an empty body, which a new one must not have.
    return new Response(body.byteLength > 0 ? body : null, response);
  }

  /**
   * Returns the response of a refresh. It is not part of one call: it continues if the signal of the call is aborted.
   * A failure is a ComandaError, so that the call is not repeated: that would use the refresh token again.
   */
  async function renewed(session: Session, stale: string | undefined, signal: AbortSignal): Promise<Response> {
    const renewal = session.renew(stale, () => {
      const url = baseUrl.replace(/\/$/, "") + session.refreshPath;
      const request = new Request(url, { method: "POST", credentials: "include", redirect: "error" });
      session.authorize(request, session.refreshPath);
      return withRetries(request, false, policy, (attempt) =>
        received(new Request(attempt, { signal: AbortSignal.timeout(refreshTimeout) }), false),
      );
    });
    const response = await waitFor(renewal, signal).catch((cause: unknown) => {
      throw signal.aborted ? cause : unreachable(cause);
    });
    if (response.ok) return response;
    throw await errorOf(response);
  }

  const method =
    <M extends Verb>(verb: M): Method<M> =>
    async (path, ...[init]) => {
      const { parseAs = "json" } = (init ?? {}) as { parseAs?: string };
      const options = { ...init, parseAs: parseAs === "json" ? "text" : parseAs };
      // The types of a method with a path of any operation are those of its signature.
      const { data, response } = await requests.request(verb as never, path as never, options as never);
      return (parseAs === "json" && data !== undefined ? parse(data, response) : data) as never;
    };
  return {
    GET: method("get"),
    POST: method("post"),
    PUT: method("put"),
    PATCH: method("patch"),
    DELETE: method("delete"),
  };
}

const unreachable = (cause: unknown) =>
  cause instanceof ComandaError
    ? cause
    : new ComandaError({ status: 0, code: "UNREACHABLE", message: "the service cannot be reached", cause });
