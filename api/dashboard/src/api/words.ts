import { ApiError } from "./client";

const changed = "Somebody else has just changed this. Look at it once more, then try again.";

const words: Record<string, string> = {
  VERSION_MISMATCH: changed,
  INVALID_TRANSITION: changed,
  LAST_OWNER: "A store must keep an owner, and this is the last one it has. Make somebody else an owner first.",
  SLOT_FULL: "There are not enough seats at that time. Try an earlier or a later one, or fewer guests.",
};

/** Why something failed, in a sentence that says what to do about it. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof ApiError)) return "Something unexpected happened on this page.";
  if (error.code === "RATE_LIMITED" && error.retryAfter) return `Too many tries. Wait ${error.retryAfter} seconds, then try again.`;
  if (error.status >= 500) return "The service has a problem. Nothing was changed unless it says otherwise; try again in a moment.";
  return words[error.code] ?? error.message.charAt(0).toUpperCase() + error.message.slice(1) + (/[.!?]$/.test(error.message) ? "" : ".");
}
