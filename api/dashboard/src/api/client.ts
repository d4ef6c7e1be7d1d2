import { ComandaError, createClient, errorOf } from "@comanda/client";

import { setReached } from "./connection";
import { askForProof } from "./proof";
import { readable } from "./readable";
import { accessToken, refresh } from "./token";

const staleCodes = ["TOKEN_EXPIRED", "TOKEN_REVOKED", "TOKEN_INVALID"];

/**
 * Sends a request with the access token. If the operation requires a recent proof of identity, asks the user for it and
 * retries once.
 */
export async function authorized(request: Request): Promise<Response> {
  const again = request.clone();
  const response = await withCurrentToken(request);
  if (response.status !== 403 || (await errorOf(response.clone())).code !== "REAUTHENTICATION_REQUIRED")
    return response;
  return (await askForProof()) && !again.signal.aborted ? withCurrentToken(again) : response;
}

/** Sends a request with the access token. If the token has expired, renews it and retries once. */
async function withCurrentToken(request: Request): Promise<Response> {
  const retry = request.clone();
  const used = accessToken();
  if (used) request.headers.set("Authorization", `Bearer ${used}`);
  const response = await send(request);
  if (response.status !== 401 || used === null) return response;
  if (!staleCodes.includes((await errorOf(response.clone())).code)) return response;
  const refreshed = await refresh(used);
  if (refreshed.result === "limited") throw refreshed.error;
  if (refreshed.result !== "renewed") return response;
  retry.headers.set("Authorization", `Bearer ${accessToken()}`);
  return send(retry);
}

async function send(request: Request): Promise<Response> {
  try {
    const response = await fetch(request, { credentials: "same-origin" }); // a login sets the cookie of the session
    setReached(true);
    return response;
  } catch (cause) {
    if (!request.signal.aborted) setReached(false);
    throw cause;
  }
}

/**
 * The REST API client. Throws a ComandaError for every error response. It repeats nothing: queries are repeated as
 * main.tsx says, so that the page can show how long it waits, and changes by the user.
 */
export const api = createClient({ baseUrl: "/", fetch: authorized, retry: { attempts: 1 } });

/** Returns the `data` member of a response body. */
export const data = async <T>(response: Promise<{ data: T }>): Promise<T> => (await response).data;

/** Returns the rows of a paginated list, or the first `max`. For short lists only. */
export async function collect<T>(rows: AsyncIterable<T>, max = Infinity): Promise<T[]> {
  const all: T[] = [];
  for await (const row of rows) if (all.push(row) >= max) break;
  return all;
}

/** Returns the header that makes a change fail if another user has changed the resource since this version was read. */
export const ifMatch = ({ version }: { version: number }) => ({ "If-Match": `"${version}"` });

/** Returns the error message for a member of the refused request, such as items[0].sku, as the API wrote it. */
export const messageAt = (error: unknown, path: string) =>
  error instanceof ComandaError ? error.details.find((detail) => detail.path === path)?.message : undefined;

/** Returns a function that looks up the error message for a member of the refused request, for people. */
export const fieldErrors = (error: unknown) => (path: string) => {
  const found = messageAt(error, path);
  return found && readable(found);
};

/** Returns an idempotency key: a POST that is repeated with the same key takes effect once. */
export const newIdempotencyKey = () => crypto.randomUUID();
