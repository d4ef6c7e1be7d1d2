import type { components } from "@comanda/client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, use, useCallback, useEffect, useMemo, useState } from "react";

import { api, data } from "@/api/client";
import { queries } from "@/api/queries";
import { refresh, shareAccessToken } from "@/api/token";
import { type Role, isAtLeast } from "@/domain/roles";

import { type ProviderProps, useAccessToken, useAccount } from "./account";
import { sendUnsent } from "./unsent";

type StoreEntry = components["schemas"]["StoreEntry"];

type Session = {
  user: components["schemas"]["MeUser"];
  storeId: string;
  storeName: string;
  /** The active store among `stores`; undefined if the user has just left it. */
  store: StoreEntry | undefined;
  /** The country of the active store, whose calling code completes local phone numbers; "" if it is unknown. */
  country: string;
  /** The active view; undefined if several views have its language and currency: the service does not return its id. */
  viewId: string | undefined;
  /** The default view of the active store. Staff read the menu in its texts, also while they use another view. */
  defaultView: { id?: string; locale: string; currency: string };
  role: Role;
  /** The locale of dates, numbers and names: that of the browser. */
  locale: string;
  /** The locale of the active view, that of product names. */
  viewLocale: string;
  currency: string;
  timezone: string;
  stores: StoreEntry[];
  /** Reports whether the user's role in the active store is at least the given role. */
  atLeast: (role: Role) => boolean;
  switchStore: (storeId: string, storeViewId?: string) => Promise<void>;
};

const Context = createContext<Session | null>(null);

/** Returns the logged-in user's work in a store. Must be called below SessionProvider. */
export function useSession(): Session {
  const session = use(Context);
  if (!session) throw new Error("useSession requires a SessionProvider");
  return session;
}

type SessionState = "checking" | "loggedIn" | "loggedOut" | "suspended" | "refused" | "unreachable" | "limited";

/** The interval in milliseconds of the checks while the service cannot be reached. */
const recheckInterval = 10_000;

/**
 * Returns whether the browser has a session. It checks the refresh cookie with the server, and then follows logins,
 * store switches and logouts in all tabs. A check that the server did not permit or that did not reach it is repeated;
 * `retryAt` is the time of the next check.
 */
export function useSessionState(): { state: SessionState; retry: () => void; retryAt?: number } {
  const token = useAccessToken();
  const [{ state, retryAt }, setInitial] = useState<{ state: SessionState; retryAt?: number }>({ state: "checking" });
  const check = useCallback(() => {
    void refresh(null).then((refreshed) => {
      const { result } = refreshed;
      if (result === "limited")
        setInitial({
          state: "limited",
          retryAt: Date.now() + ((refreshed.error.retryAfter ?? 10) + Math.random()) * 1000,
        });
      else if (result === "unreachable") setInitial({ state: "unreachable", retryAt: Date.now() + recheckInterval });
      else setInitial({ state: result === "renewed" ? "loggedIn" : result === "ended" ? "loggedOut" : result });
    });
  }, []);
  useEffect(check, [check]);
  useEffect(() => {
    if (retryAt === undefined || token) return;
    const timer = setTimeout(check, Math.max(0, retryAt - Date.now()));
    return () => clearTimeout(timer);
  }, [retryAt, token, check]);
  const retry = () => {
    setInitial({ state: "checking" });
    check();
  };
  if (token) return { state: "loggedIn", retry };
  return { state: state === "loggedIn" ? "loggedOut" : state, retry, retryAt };
}

/** Loads the session for the components below it, which must be below AccountProvider. */
export function SessionProvider({ children, fallback }: ProviderProps) {
  const client = useQueryClient();
  const { user, store, locale } = useAccount();
  const stores = useQuery(queries.stores);

  const switchStore = useCallback(
    async (storeId: string, storeViewId?: string) => {
      await sendUnsent(); // it belongs to the store that is left
      const { accessToken } = await data(api.POST("/auth/switch-store", { body: { storeId, storeViewId } }));
      shareAccessToken(accessToken);
      await client.resetQueries();
    },
    [client],
  );

  const session = useMemo<Session | null>(() => {
    if (!store || !stores.data) return null;
    const role = store.role as Role;
    const active = stores.data.find(({ storeId }) => storeId === store.storeId);
    const views = active?.storeViews ?? [];
    const [view, other] = views.filter((one) => one.locale === store.locale && one.currency === store.currency);
    return {
      user,
      storeId: store.storeId,
      storeName: store.storeName,
      store: active,
      country: active?.countryCode ?? "",
      viewId: other ? undefined : view?.id,
      defaultView: views.find((view) => view.isDefault) ?? views[0] ?? { locale, currency: store.currency },
      role,
      locale,
      viewLocale: store.locale,
      currency: store.currency,
      timezone: store.timezone,
      stores: stores.data,
      atLeast: (least) => isAtLeast(role, least),
      switchStore,
    };
  }, [user, store, locale, stores.data, switchStore]);

  if (!session) return fallback(stores.error, () => void stores.refetch());
  return <Context value={session}>{children}</Context>;
}
