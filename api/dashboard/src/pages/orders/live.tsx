import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, createContext, use, useCallback, useEffect, useMemo, useRef, useState } from "react";

import { useEventStream } from "@/api/events";
import { useInvalidate, orderLists, partsOfOrders, paymentLists, queries } from "@/api/queries";
import { useSession } from "@/session/session";

import { type OrderEvent, catchUp, readChanged } from "./order-changes";

/** The polling interval while the event stream is down, in milliseconds. */
const pollInterval = 10_000;

/** Events within this many milliseconds are applied together. */
const collectDelay = 150;

/** The minimum interval between reloads of lists, in milliseconds. */
const listInterval = 2_000;

/** The minimum interval between reloads of payments, in milliseconds. Their sums are costly for the service. */
const paymentsInterval = 15_000;

/** The interval between reads of deliveries, in milliseconds. A delivery changes several times within a second. */
const deliveriesInterval = 1_000;

type Live = {
  live: boolean;
  /** The interval at which order queries must poll, if the event stream is not open. */
  refetchInterval: number | undefined;
  /** The reminders of orders that wait for acceptance, since the page was opened. */
  reminders: readonly OrderEvent[];
};

const Context = createContext<Live>({ live: false, refetchInterval: pollInterval, reminders: [] });

/** Returns the state of the event stream. */
export const useLiveOrders = () => use(Context);

/**
 * Keeps all order queries up to date. Open orders and single orders are patched from the event stream; the lists of
 * orders and payments are reloaded, because an order may enter or leave them.
 */
export function LiveOrders({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const invalidate = useInvalidate();
  const { storeId } = useSession();
  const waiting = useRef(new Map<string, OrderEvent>());
  const delivered = useRef(new Set<string>());
  const timers = useRef<{ collect?: Timer; lists?: Timer; payments?: Timer; deliveries?: Timer }>({});
  const [reminders, setReminders] = useState<readonly OrderEvent[]>([]);
  useEffect(() => {
    const { current } = timers;
    return () => {
      clearTimeout(current.collect);
      clearTimeout(current.lists);
      clearTimeout(current.payments);
      clearTimeout(current.deliveries);
      timers.current = {};
    };
  }, []);

  const reloadLists = useCallback(() => {
    timers.current.lists ??= setTimeout(() => {
      timers.current.lists = undefined;
      void client.invalidateQueries(orderLists);
    }, listInterval);
    timers.current.payments ??= setTimeout(() => {
      timers.current.payments = undefined;
      void client.invalidateQueries(paymentLists, { cancelRefetch: false }); // a slow one ends
    }, paymentsInterval);
  }, [client]);

  const reloadDeliveries = useCallback(() => {
    timers.current.deliveries ??= setTimeout(() => {
      timers.current.deliveries = undefined;
      const ids = [...delivered.current];
      delivered.current.clear();
      for (const id of ids) void client.invalidateQueries({ queryKey: queries.orders.deliveries(id).queryKey });
    }, deliveriesInterval);
  }, [client]);

  const flush = useCallback(async () => {
    timers.current.collect = undefined;
    const events = [...waiting.current.values()];
    waiting.current.clear();
    const read = await readChanged(client, events);
    const ids = new Set([...read, ...events.filter(({ deliveries }) => !deliveries).map(({ id }) => id)]);
    if (ids.size === 0) return;
    void client.invalidateQueries(partsOfOrders(ids));
    reloadLists();
  }, [client, reloadLists]);

  const live = useEventStream("/orders/stream", storeId, {
    onOpen: () => {
      void catchUp(client).catch(() => invalidate("openOrders"));
      void invalidate("orders");
    },
    onEvent: (text) => {
      const event = JSON.parse(text) as OrderEvent;
      if (event.reminder) setReminders((all) => (all.some(({ id }) => id === event.id) ? all : [...all, event]));
      if (event.deliveries) {
        delivered.current.add(event.id);
        reloadDeliveries();
      }
      // The event of a delivery may be the first one with the newest version of its order.
      const before = waiting.current.get(event.id);
      const deliveries = event.deliveries && (before?.deliveries ?? true);
      waiting.current.set(event.id, { ...event, deliveries, items: event.items || before?.items });
      timers.current.collect ??= setTimeout(() => void flush(), collectDelay);
    },
  });
  const refetchInterval = live ? undefined : pollInterval;
  // Sounds and notifications need the orders while the tab is in the background, too.
  useQuery({ ...queries.openOrders, refetchInterval, refetchIntervalInBackground: true });
  const value = useMemo(() => ({ live, refetchInterval, reminders }), [live, refetchInterval, reminders]);
  return <Context value={value}>{children}</Context>;
}

type Timer = ReturnType<typeof setTimeout>;
