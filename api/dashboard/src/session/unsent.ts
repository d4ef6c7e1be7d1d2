// Changes that the user has made, but that this tab or another one has not yet sent.

type Sender = () => Promise<void>;

const senders = new Set<Sender>();

/** Each tab with unsent changes holds this lock, shared with the others. */
const lockName = "comanda.unsent";

/** The time in milliseconds for which a tab waits for the others. A tab that is frozen does not respond. */
const unsentTimeout = 5_000;

type Message = { send: true };

const channel = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("comanda.unsent");
const locks = typeof navigator === "undefined" ? undefined : navigator.locks;

channel?.addEventListener("message", () => void sendHere().catch(() => {}));

/**
 * Registers a function that sends all unsent changes of a part of this tab. The function rejects if a change was not
 * sent. Returns a function that ends the registration.
 */
export function registerSender(send: Sender) {
  senders.add(send);
  return () => void senders.delete(send);
}

/** Marks this tab as one with unsent changes until the returned function is called. */
export function holdUnsent(): () => void {
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  void locks?.request(lockName, { mode: "shared" }, () => released);
  return release;
}

async function sendHere() {
  const results = await Promise.allSettled([...senders].map((send) => send()));
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
}

/**
 * Sends all unsent changes of all tabs, before the session ends or the store is switched. Rejects if a change of this
 * tab was not sent.
 */
export async function sendUnsent() {
  channel?.postMessage({ send: true } satisfies Message);
  await sendHere();
  if (!locks || !channel) return;
  // The lock is free when no tab has unsent changes.
  await locks.request(lockName, { signal: AbortSignal.timeout(unsentTimeout) }, () => {}).catch(() => {});
}
