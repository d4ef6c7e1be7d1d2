import { useSyncExternalStore } from "react";

// Whether the service responded to the last request of this tab.
let reached = true;
const listeners = new Set<() => void>();

/** Stores whether the last request reached the service. */
export function setReached(next: boolean) {
  if (next === reached) return;
  reached = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  addEventListener("online", listener);
  addEventListener("offline", listener);
  return () => {
    listeners.delete(listener);
    removeEventListener("online", listener);
    removeEventListener("offline", listener);
  };
}

/** Reports whether the service can be reached, as far as this tab can tell. */
export const isConnected = () => navigator.onLine && reached;

export const useConnected = () => useSyncExternalStore(subscribe, isConnected);
