import { ComandaError } from "@comanda/client";

import { instant, readable, withLocalTimes } from "./readable";

const conflict = "Another user has changed this. Review the current version, then try again.";

const messages: Record<string, string> = {
  UNREACHABLE: "The service cannot be reached. Check your connection; the data shown may be out of date.",
  VERSION_MISMATCH: conflict,
  INVALID_TRANSITION: conflict,
  REAUTHENTICATION_REQUIRED: "Comanda needs your password for this. Try again and enter it.",
  LAST_OWNER: "A store must have an owner, and this is its only one. Make another user an owner first.",
  SLOT_FULL: "Not enough seats are free at that time. Choose a free time or fewer guests.",
  PRODUCT_UNAVAILABLE: "An item is not available in this quantity. Remove it or reduce its quantity.",
  OPTION_INVALID: "An item cannot be ordered with these options. Change the options of the marked item.",
  PRICE_NOT_SET: "An item has no price in this currency. Remove it, or set the price on the menu.",
  TOTAL_MISMATCH: "The total has changed. Check the new total, then place the order again.",
  AMOUNT_TOO_LARGE: "The total is too large. Reduce the quantities.",
};

/** Sentences for refusals whose message contains times. */
const timed: Record<string, (error: ComandaError) => string> = {
  OUTSIDE_BOOKING_WINDOW: ({ message }) => {
    const [earliest, latest] = message.match(instant) ?? [];
    return latest
      ? `This time cannot be booked. Choose a time between ${earliest} and ${latest}.`
      : "This time cannot be booked. The store takes no orders for later.";
  },
  STORE_CLOSED: (error) => {
    const next = error.details.find(({ path }) => path === "nextOpenAt")?.message;
    return (
      "The store takes no orders for this time. " + (next ? `It opens again on ${next}.` : "Change its opening hours.")
    );
  },
};

/** Reports whether errorMessage returns a specific sentence, so that the details of the error add nothing. */
export const isPlain = (error: ComandaError) => error.code in messages || error.code in timed;

/** Returns a sentence that says why a request failed and what to do. Times in it are local. */
export function errorMessage(error: unknown): string {
  if (!(error instanceof ComandaError)) return "An unexpected error occurred on this page. Reload it and try again.";
  if (error.code === "RATE_LIMITED" && error.retryAfter)
    return `Too many requests. Wait ${error.retryAfter} seconds, then try again.`;
  if (error.status >= 500) return "The service could not process the request. Wait a moment, then try again.";
  const own = messages[error.code] ?? timed[error.code]?.(error);
  const text = own ? withLocalTimes(own) : readable(error.message);
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
}
