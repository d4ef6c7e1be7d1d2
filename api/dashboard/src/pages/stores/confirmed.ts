import { useSyncExternalStore } from "react";

import type { Confirmable } from "./setup";

// The confirmations are kept in the browser: the API has no member that tells an intended 0 % from a forgotten one.

const key = (storeId: string) => `comanda.setup.${storeId}`;
const listeners = new Set<() => void>();

function subscribe(listener: () => void) {
  listeners.add(listener);
  addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    removeEventListener("storage", listener);
  };
}

/** Returns the empty values of a store's set-up that a user of this device has confirmed. */
export function useConfirmed(storeId: string): ReadonlySet<Confirmable> {
  const text = useSyncExternalStore(subscribe, () => localStorage.getItem(key(storeId)) ?? "");
  return new Set(text.split(" ").filter((one): one is Confirmable => one === "hours" || one === "tax"));
}

/** Confirms that an empty value is intended. */
export function confirmEmpty(storeId: string, of: Confirmable) {
  const text = localStorage.getItem(key(storeId)) ?? "";
  localStorage.setItem(key(storeId), `${text} ${of}`.trim());
  for (const listener of listeners) listener();
}
