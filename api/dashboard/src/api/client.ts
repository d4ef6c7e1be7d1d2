import createClient, { type Middleware } from "openapi-fetch";

import { setReached } from "./connection";
import { readable } from "./readable";
import type { paths } from "./schema";
import { accessToken, codeOf, refresh } from "./token";

/** An error response of the API. Status 0 means that no response arrived. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId?: string,
    readonly details: { path: string; message: string }[] = [],
    readonly retryAfter?: number,
  ) {
    super(message);
  }

  /** Returns the error message for a member of the request, for example `items[0].quantity`. */
  at(path: string) {
    const found = this.details.find((detail) => detail.path === path);
    return found && readable(found.message);
  }
}

/** Sends a request with the access token. If the token has expired, renews it and retries once. */
export async function authorized(request: Request): Promise<Response> {
  const retry = request.clone();
  const used = accessToken();
  if (used) request.headers.set("Authorization", `Bearer ${used}`);
  const response = await send(request);
  if (response.status !== 401 || used === null) return response;
  const code = await codeOf(response.clone());
  if (code !== "TOKEN_EXPIRED" && code !== "TOKEN_REVOKED" && code !== "TOKEN_INVALID") return response;
  const refreshed = await refresh(used);
  if (refreshed.result === "limited")
    throw new ApiError(429, "RATE_LIMITED", "Too many requests.", undefined, [], refreshed.retryAfter);
  if (refreshed.result !== "renewed") return response;
  retry.headers.set("Authorization", `Bearer ${accessToken()}`);
  return send(retry);
}

async function send(request: Request): Promise<Response> {
  try {
    const response = await fetch(request);
    setReached(true);
    return response;
  } catch (cause) {
    if (request.signal.aborted) throw cause;
    setReached(false);
    throw new ApiError(
      0,
      "UNREACHABLE",
      "The service cannot be reached. Check your connection; the data shown may be out of date.",
    );
  }
}

const throwErrors: Middleware = {
  async onResponse({ response }) {
    if (response.ok) return undefined;
    let error: { code?: string; message?: string; requestId?: string; details?: { path: string; message: string }[] } =
      {};
    try {
      error = ((await response.json()) as { error: typeof error }).error ?? {};
    } catch {
      // A proxy's response, not the API's.
    }
    throw new ApiError(
      response.status,
      error.code ?? "UNKNOWN",
      error.message ?? `The service responded with status ${response.status}.`,
      error.requestId ?? response.headers.get("X-Request-Id") ?? undefined,
      error.details,
      Number(response.headers.get("Retry-After")) || undefined,
    );
  },
};

/** The REST API client, typed by openapi.yaml. Throws an ApiError for every error response. */
export const api = createClient<paths>({ baseUrl: "/", fetch: authorized });
api.use(throwErrors);

/** Returns the `data` member of a response body. */
export async function data<T>(response: Promise<{ data?: { data: T } }>): Promise<T> {
  return (await response).data!.data;
}

/** Returns a function that looks up the error message for a member of the refused request. */
export const fieldErrors = (error: unknown) => (path: string) =>
  error instanceof ApiError ? error.at(path) : undefined;

/** Returns an idempotency key: a POST that is repeated with the same key takes effect once. */
export const newIdempotencyKey = () => crypto.randomUUID();
