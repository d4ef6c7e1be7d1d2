import { type components, ComandaError } from "@comanda/client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import {
  type ReactNode,
  createContext,
  use,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useSyncExternalStore,
} from "react";

import { api } from "@/api/client";
import { invalidate, queries } from "@/api/queries";
import { setMessageClock } from "@/api/readable";
import { accessToken, onTokenChange, shareAccessToken } from "@/api/token";

import { sendUnsent } from "./unsent";

type Account = {
  user: components["schemas"]["MeUser"];
  /** The active store; undefined for a platform administrator. */
  store: components["schemas"]["StoreContext"] | undefined;
  /** The locale of dates, numbers and names: that of the browser, as for its own date fields. */
  locale: string;
  /** The time zone of the active store, otherwise that of the browser. */
  timezone: string;
  /** Sends what is not yet sent, then ends the session. Rejects if the session did not end. */
  logOut: () => Promise<void>;
};

const Context = createContext<Account | null>(null);

/** Returns the logged-in user. Must be called below AccountProvider. */
export function useAccount(): Account {
  const account = use(Context);
  if (!account) throw new Error("useAccount requires an AccountProvider");
  return account;
}

export const useAccessToken = () => useSyncExternalStore(onTokenChange, accessToken);

export type ProviderProps = {
  children: ReactNode;
  /** Rendered while the provider loads (error is null) and after it failed to load. */
  fallback: (error: unknown, retry: () => void) => ReactNode;
};

/** Loads the logged-in user for the components below it. */
export function AccountProvider({ children, fallback }: ProviderProps) {
  const client = useQueryClient();
  // The user may have chosen another view in a previous session.
  const me = useQuery({ ...queries.me, refetchOnMount: "always" });

  // Another tab may have switched the store or its view, or logged in another user. The token does not have the view.
  const token = useAccessToken();
  const read = useRef(token);
  const shown = me.data;
  useEffect(() => {
    const claims = token && shown && claimsOf(token);
    if (!claims) return;
    if (claims.sub !== shown.user.id || claims.storeId !== shown.store?.storeId)
      void client.resetQueries(); // all cached data belongs to the previous user or store
    else if (token !== read.current) void invalidate(client, "me");
    read.current = token;
  }, [token, shown, client]);

  const logOut = useCallback(async () => {
    await sendUnsent();
    try {
      await api.POST("/auth/logout");
    } catch (error) {
      // 401: the session has already ended.
      if (!(error instanceof ComandaError && error.status === 401)) throw error;
    }
    client.clear();
    shareAccessToken(null);
  }, [client]);

  const account = useMemo<Account | null>(() => {
    if (!me.data) return null;
    const { user, store } = me.data;
    const { locale, timeZone } = Intl.DateTimeFormat().resolvedOptions();
    const timezone = store?.timezone ?? timeZone;
    setMessageClock({ locale, timezone });
    return { user, store, locale, timezone, logOut };
  }, [me.data, logOut]);
  if (!account) return fallback(me.error, () => void me.refetch());
  const { user, store } = account;
  // Amounts that the user has typed are in the currency of the view. In another view, all pages start again.
  return (
    <Context key={[user.id, store?.storeId, store?.locale, store?.currency].join()} value={account}>
      {children}
    </Context>
  );
}

/** Returns the claims of an access token. They only detect changes; the server authorizes. */
function claimsOf(token: string): { sub?: string; storeId?: string } | undefined {
  try {
    const payload = token.split(".")[1]!.replace(/-/g, "+").replace(/_/g, "/");
    return JSON.parse(atob(payload)) as { sub?: string; storeId?: string };
  } catch {
    return undefined;
  }
}
