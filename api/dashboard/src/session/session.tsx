import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, createContext, use, useCallback, useEffect, useMemo, useState, useSyncExternalStore } from "react";

import { api, data } from "@/api/client";
import type { components } from "@/api/schema";
import { accessToken, onTokenChange, refresh, shareAccessToken } from "@/api/token";

export type Role = "OWNER" | "ADMIN" | "MANAGER" | "STAFF";

type StoreEntry = components["schemas"]["StoreEntry"];

type Session = {
  user: { id: string; email: string; name: string };
  storeId: string;
  storeName: string;
  role: Role;
  locale: string;
  currency: string;
  timezone: string;
  stores: StoreEntry[];
  /** Whether the role of the active store is this one or a higher one. */
  atLeast: (role: Role) => boolean;
  switchStore: (storeId: string, storeViewId?: string) => Promise<void>;
  logOut: () => Promise<void>;
};

const Context = createContext<Session | null>(null);

/** Who is logged in, and where. Only below SessionProvider. */
export function useSession(): Session {
  const session = use(Context);
  if (!session) throw new Error("nobody is logged in");
  return session;
}

const ranks: Record<Role, number> = { STAFF: 1, MANAGER: 2, ADMIN: 3, OWNER: 4 };

export const useAccessToken = () => useSyncExternalStore(onTokenChange, accessToken);

type Start = "asking" | "in" | "out" | "unreachable";

/**
 * Finds out whether the browser has a session, from the cookie that only the server reads,
 * and follows it: whoever logs in, switches or logs out in another tab does so here.
 */
export function useStart(): { state: Start; again: () => void } {
  const token = useAccessToken();
  const [start, setStart] = useState<Start>("asking");
  const ask = useCallback(() => {
    setStart("asking");
    void refresh(null).then((result) => setStart(result === "renewed" ? "in" : result === "ended" ? "out" : "unreachable"));
  }, []);
  useEffect(ask, [ask]);
  if (token) return { state: "in", again: ask };
  return { state: start === "in" ? "out" : start, again: ask };
}

export function SessionProvider({ children, fallback }: { children: ReactNode; fallback: (error: unknown, retry: () => void) => ReactNode }) {
  const queries = useQueryClient();
  const me = useQuery({ queryKey: ["me"], queryFn: () => data(api.GET("/auth/me")), staleTime: 60_000 });
  const stores = useQuery({ queryKey: ["stores"], queryFn: () => data(api.GET("/auth/stores")), staleTime: 60_000 });

  // Another tab has switched: everything that is shown belongs to another store.
  const token = useAccessToken();
  const active = token ? storeOf(token) : undefined;
  const shown = me.data?.store?.storeId;
  useEffect(() => {
    if (active && shown && active !== shown) void queries.resetQueries();
  }, [active, shown, queries]);

  const switchStore = useCallback(
    async (storeId: string, storeViewId?: string) => {
      const { accessToken } = await data(api.POST("/auth/switch-store", { body: { storeId, storeViewId } }));
      shareAccessToken(accessToken);
      await queries.resetQueries();
    },
    [queries],
  );
  const logOut = useCallback(async () => {
    try {
      await api.POST("/auth/logout");
    } finally {
      queries.clear();
      shareAccessToken(null);
    }
  }, [queries]);

  const session = useMemo<Session | null>(() => {
    const store = me.data?.store;
    if (!me.data || !store || !stores.data) return null;
    const role = store.role as Role;
    return {
      user: me.data.user,
      storeId: store.storeId,
      storeName: store.storeName,
      role,
      locale: store.locale,
      currency: store.currency,
      timezone: store.timezone,
      stores: stores.data,
      atLeast: (least) => ranks[role] >= ranks[least],
      switchStore,
      logOut,
    };
  }, [me.data, stores.data, switchStore, logOut]);

  const error = me.error ?? stores.error;
  if (!session) {
    return fallback(error, () => {
      void me.refetch();
      void stores.refetch();
    });
  }
  return <Context value={session}>{children}</Context>;
}

/** The store of an access token. It is read to notice a switch, never trusted. */
function storeOf(token: string): string | undefined {
  try {
    const payload = token.split(".")[1]!.replace(/-/g, "+").replace(/_/g, "/");
    return (JSON.parse(atob(payload)) as { storeId?: string }).storeId;
  } catch {
    return undefined;
  }
}
