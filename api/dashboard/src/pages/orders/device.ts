import { useSyncExternalStore } from "react";

import { oneOf } from "@/ui/search-params";

/** The settings of the board on this device. They are kept in the browser. */
export type DeviceSettings = {
  /** Whether a sound repeats until no order waits for acceptance. */
  sound: boolean;
  /** From 0 to 100. */
  volume: number;
  /** The seconds between two sounds. */
  repeatSeconds: number;
  /** Whether the browser shows a notification of a new order while the page is in the background. */
  notify: boolean;
  /** The minutes before the promised time from which an order is marked as due soon. */
  warnMinutes: number;
  /** What is printed when an order is accepted on this device. */
  print: "nothing" | "slip" | "receipt" | "both";
  paper: "80mm" | "A4";
  /** Whether the board fills the screen of a wall tablet. */
  big: boolean;
};

export const defaults: DeviceSettings = {
  sound: false,
  volume: 70,
  repeatSeconds: 10,
  notify: false,
  warnMinutes: 5,
  print: "nothing",
  paper: "80mm",
  big: false,
};

const key = "comanda.board";

/** Returns valid settings: stored values that are missing or invalid are replaced by the defaults. */
export function parseSettings(text: string | null): DeviceSettings {
  let stored: Record<string, unknown> = {};
  try {
    stored = Object(JSON.parse(text ?? "{}")) as Record<string, unknown>;
  } catch {
    // Not written by this page.
  }
  const flag = (name: "sound" | "notify" | "big") => stored[name] === true;
  const number = (name: "volume" | "repeatSeconds" | "warnMinutes", min: number, max: number) => {
    const value = stored[name];
    return typeof value === "number" && value >= min && value <= max ? Math.round(value) : defaults[name];
  };
  return {
    sound: flag("sound"),
    volume: number("volume", 0, 100),
    repeatSeconds: number("repeatSeconds", 2, 120),
    notify: flag("notify"),
    warnMinutes: number("warnMinutes", 1, 60),
    print: oneOf(stored, "print", { nothing: 1, slip: 1, receipt: 1, both: 1 }) ?? defaults.print,
    paper: oneOf(stored, "paper", { "80mm": 1, A4: 1 }) ?? defaults.paper,
    big: flag("big"),
  };
}

let current: DeviceSettings | undefined;
const listeners = new Set<() => void>();

const read = () => parseSettings(localStorage.getItem(key));

export const deviceSettings = () => (current ??= read());

function show(next: DeviceSettings) {
  current = next;
  for (const listener of listeners) listener();
}

/** Changes some settings. The others are read again, because another tab may have changed them. */
export function changeDeviceSettings(change: Partial<DeviceSettings>) {
  const next = { ...read(), ...change };
  localStorage.setItem(key, JSON.stringify(next));
  show(next);
}

// Another tab has changed the settings; a key of null means that it has cleared the storage.
addEventListener("storage", (event) => {
  if (event.key === key || event.key === null) show(read());
});

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export const useDeviceSettings = () => useSyncExternalStore(subscribe, deviceSettings);

/** The key of the orders that this device has printed, and how many of them are kept. */
const printedKey = "comanda.printed";
const maxPrinted = 200;

/**
 * Returns whether this device has not yet printed an order, and remembers that it has. A lock decides between two tabs.
 */
export async function claimPrint(orderId: string): Promise<boolean> {
  const claim = () => {
    let printed: unknown;
    try {
      printed = JSON.parse(localStorage.getItem(printedKey) ?? "[]");
    } catch {
      // Not written by this page.
    }
    const known = Array.isArray(printed) ? printed.filter((id) => typeof id === "string") : [];
    if (known.includes(orderId)) return false;
    localStorage.setItem(printedKey, JSON.stringify([...known, orderId].slice(-maxPrinted)));
    return true;
  };
  return navigator.locks ? navigator.locks.request("comanda.print", claim) : claim();
}
