import { useSyncExternalStore } from "react";

// The confirmation is kept in the browser: the API does not distinguish an intended 0 % from a forgotten rate.

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

/** Returns whether a user of this device has confirmed that a store charges no tax. */
export const useNoTax = (storeId: string) =>
  useSyncExternalStore(subscribe, () => localStorage.getItem(key(storeId)) === "tax");

/** Confirms that a store charges no tax. */
export function confirmNoTax(storeId: string) {
  localStorage.setItem(key(storeId), "tax");
  for (const listener of listeners) listener();
}
