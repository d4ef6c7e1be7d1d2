// The access token lives in this module and nowhere else: not in storage, not in a
// cookie. The refresh token is a cookie that no script sees.

let token: string | null = null;
const listeners = new Set<() => void>();

/** The access token of this tab, null when nobody is logged in as far as it knows. */
export const accessToken = () => token;

export function setAccessToken(next: string | null) {
  token = next;
  for (const listener of listeners) listener();
}

export function onTokenChange(listener: () => void) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** How a refresh ended: with a token, without a session, or without an answer. */
export type Refreshed = "renewed" | "ended" | "unreachable";

/** What the tabs tell each other: the newest access token, so that each cookie is used once. */
const channel = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("comanda.session");

channel?.addEventListener("message", (event: MessageEvent<{ token: string | null }>) => setAccessToken(event.data.token));

/** Tells the other tabs about a login, a switch of store or a logout. */
export function shareAccessToken(next: string | null) {
  setAccessToken(next);
  channel?.postMessage({ token: next });
}

let running: Promise<Refreshed> | null = null;

/**
 * Gets a new access token for one that is no longer good. Only one tab at a time does so: two
 * that used the same refresh cookie would set off its reuse detection. Whoever waited for
 * the lock finds the token renewed and uses that.
 */
export function refresh(stale: string | null): Promise<Refreshed> {
  running ??= withLock(() => refreshOnce(stale)).finally(() => {
    running = null;
  });
  return running;
}

const withLock = <T>(work: () => Promise<T>): Promise<T> =>
  navigator.locks ? (navigator.locks.request("comanda.refresh", work) as Promise<T>) : work();

async function refreshOnce(stale: string | null): Promise<Refreshed> {
  if (token !== null && token !== stale) return "renewed";
  let response: Response;
  try {
    response = await fetch("/auth/refresh", { method: "POST" });
  } catch {
    return "unreachable";
  }
  if (response.ok) {
    const { data } = (await response.json()) as { data: { accessToken: string } };
    shareAccessToken(data.accessToken);
    return "renewed";
  }
  if (response.status !== 401) return "unreachable";
  shareAccessToken(null);
  return "ended";
}
