import { type ComandaError, errorOf } from "@comanda/client";

// The access token is kept in memory only, not in storage or a cookie. The refresh token is an HttpOnly cookie.

let token: string | null = null;
const listeners = new Set<() => void>();

/** Returns the access token of this tab, or null if it has none. */
export const accessToken = () => token;

export function setAccessToken(next: string | null) {
  token = next;
  for (const listener of listeners) listener();
}

export function onTokenChange(listener: () => void) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/**
 * The result of a refresh: a new token, no session, a session of a suspended website, a refusal for another reason
 * (such as CROSS_ORIGIN), too many requests (with the error, which has the seconds to wait), or no usable response.
 */
export type Refreshed =
  | { result: "renewed" | "ended" | "suspended" | "refused" | "unreachable" }
  | { result: "limited"; error: ComandaError };

type Message = { token: string | null } | { wanted: true };

/** Shares the newest access token between tabs, so that each refresh cookie is used once. */
const channel = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("comanda.session");

channel?.addEventListener("message", (event: MessageEvent<Message>) => {
  if ("token" in event.data) setAccessToken(event.data.token);
  else if (token !== null) channel.postMessage({ token });
});

/** Sets the access token in all tabs, after a login, a store switch or a logout. */
export function shareAccessToken(next: string | null) {
  setAccessToken(next);
  channel?.postMessage({ token: next });
}

/** A shared lock that each open tab holds. A new tab waits for the token of another tab only if there is one. */
const tabLock = "comanda.tab";
if (typeof navigator !== "undefined" && navigator.locks)
  void navigator.locks.request(tabLock, { mode: "shared" }, () => new Promise(() => {}));

/** The time in milliseconds for which a new tab waits for the token of another tab. */
const tokenTimeout = 300;

/** Requests the access token of the other tabs. Returns whether this tab has one afterwards. */
async function requestToken(): Promise<boolean> {
  const { held = [] } = await navigator.locks.query();
  if (held.filter(({ name }) => name === tabLock).length < 2) return false;
  channel?.postMessage({ wanted: true });
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, tokenTimeout);
    const forget = onTokenChange(done);
    function done() {
      clearTimeout(timer);
      forget();
      resolve();
    }
  });
  return token !== null;
}

let pendingRefresh: Promise<Refreshed> | null = null;

/**
 * Replaces a stale access token. A lock lets one tab at a time refresh, because two requests with
 * the same refresh cookie would trigger reuse detection. A tab that waited for the lock uses the
 * token that the other tab received, and a new tab uses the token of any other tab.
 */
export function refresh(stale: string | null): Promise<Refreshed> {
  pendingRefresh ??= withLock(() => refreshOnce(stale)).finally(() => {
    pendingRefresh = null;
  });
  return pendingRefresh;
}

const withLock = <T>(work: () => Promise<T>): Promise<T> =>
  navigator.locks ? (navigator.locks.request("comanda.refresh", work) as Promise<T>) : work();

async function refreshOnce(stale: string | null): Promise<Refreshed> {
  if (token !== null && token !== stale) return { result: "renewed" };
  if (stale === null && channel && navigator.locks && (await requestToken())) return { result: "renewed" };
  let response: Response;
  try {
    response = await fetch("/auth/refresh", { method: "POST" });
  } catch {
    return { result: "unreachable" };
  }
  if (response.ok) {
    const { data } = (await response.json()) as { data: { accessToken: string } };
    shareAccessToken(data.accessToken);
    return { result: "renewed" };
  }
  const error = await errorOf(response);
  switch (error.status) {
    case 401:
      shareAccessToken(null);
      return { result: "ended" };
    case 403:
      return { result: error.code === "WEBSITE_SUSPENDED" ? "suspended" : "refused" };
    case 429:
      return { result: "limited", error };
  }
  return { result: "unreachable" };
}
