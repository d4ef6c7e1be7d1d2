import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";

import { useEventStream } from "@/api/events";
import { useSession } from "@/session/session";

/** How often orders are asked for while nobody tells of their changes. */
const interval = 10_000;

/**
 * Keeps every shown order up to date: the service tells which has changed, and what is shown
 * of it is read again. Without the stream everything is read from time to time.
 */
export function useLiveOrders() {
  const queries = useQueryClient();
  const { storeId } = useSession();
  const soon = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(
    () => () => {
      clearTimeout(soon.current);
      soon.current = undefined;
    },
    [],
  );
  const reload = useCallback(() => {
    soon.current ??= setTimeout(() => {
      soon.current = undefined;
      void queries.invalidateQueries({ queryKey: ["orders"] });
    }, 150); // a burst is one reading
  }, [queries]);
  const live = useEventStream("/orders/stream", storeId, { onOpen: reload, onEvent: reload });
  return { live, refetchInterval: live ? undefined : interval };
}

/** The time, each half minute: ages of orders go on while nothing happens. */
export function useNow() {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
