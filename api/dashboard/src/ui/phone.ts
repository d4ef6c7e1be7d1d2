import type { CountryCode, isSupportedCountry, parsePhoneNumberFromString } from "libphonenumber-js/min";
import { useSyncExternalStore } from "react";

type Library = {
  isSupportedCountry: typeof isSupportedCountry;
  parsePhoneNumberFromString: typeof parsePhoneNumberFromString;
};

// The rules of all countries are 100 kB, so they are loaded when the user begins to type a number.
let library: Library | undefined;
const listeners = new Set<() => void>();

/** Loads the rules of phone numbers. Without them, a number stays as it was typed, and the service checks it. */
export async function loadPhoneRules(): Promise<void> {
  if (library) return;
  try {
    library = await import("libphonenumber-js/min");
  } catch {
    return; // no connection
  }
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Renders the component again when the rules are loaded. */
export const usePhoneRules = () => useSyncExternalStore(subscribe, () => library !== undefined);

/**
 * Returns a phone number in international format. A local number is completed with the calling code of a country; a
 * text that is no phone number is returned without its separators.
 */
export function internationalPhone(text: string, country: string): string {
  const known = library?.isSupportedCountry(country) ? (country satisfies CountryCode) : undefined;
  return library?.parsePhoneNumberFromString(text, known)?.number ?? text.replace(/[\s()/-]/g, "");
}
