import { codeOf, ComandaError, retryDelay } from "./error.js";

/** The bounds of the repetitions of one call. */
export interface RetryPolicy {
  /** The maximum number of requests of a call, the first one included. Default: 4; 1 disables repetitions. */
  attempts: number;
  /** The maximum time in milliseconds that a call waits in total before its repetitions. Default: 60,000. */
  maxWait: number;
}

export const defaultPolicy: RetryPolicy = { attempts: 4, maxWait: 60_000 };

/** The longest delay in milliseconds before the second request, if the service names none. It doubles each time. */
const firstDelay = 500;

/**
 * Sends a request and repeats it within the bounds of the policy. A request with the status 429 was not processed, and
 * is always repeated. If the status is 503 or no response arrives, it may have been processed: it is repeated only if
 * it is repeatable. The delay is that of Retry-After. A longer delay than the policy permits ends the call immediately,
 * and so does a ComandaError of send.
 */
export async function withRetries(
  request: Request,
  repeatable: boolean,
  policy: RetryPolicy,
  send: (request: Request) => Promise<Response>,
): Promise<Response> {
  const { signal } = request;
  let remaining = policy.maxWait;
  for (let attempt = 1; ; attempt++) {
    const last = attempt >= policy.attempts;
    let response: Response | undefined;
    let delay = firstDelay * 2 ** (attempt - 1) * Math.random();
    try {
      response = await send(request.clone());
    } catch (cause) {
      if (cause instanceof ComandaError || signal.aborted || !repeatable || last || delay > remaining) throw cause;
    }
    if (response) {
      delay = retryDelay(response) ?? delay;
      if (last || delay > remaining || !(await mayRepeat(response, repeatable))) return response;
      await response.body?.cancel();
    }
    await sleep(delay, signal);
    remaining -= delay;
  }
}

async function mayRepeat(response: Response, repeatable: boolean): Promise<boolean> {
  switch (response.status) {
    case 429:
      return true;
    case 503:
      return repeatable;
    case 409: // an earlier request with this key, to which no response arrived, is still running
      return repeatable && (await codeOf(response)) === "IDEMPOTENCY_KEY_IN_USE";
  }
  return false;
}

/** Waits for a number of milliseconds. Rejects with the reason of the signal if it is aborted. */
const sleep = (delay: number, signal: AbortSignal) =>
  abortable(signal, (resolve) => {
    const timer = setTimeout(resolve, delay);
    return () => clearTimeout(timer);
  });

/** Waits for a promise that other calls share. Rejects with the reason of the signal if it is aborted. */
export const waitFor = <T>(promise: Promise<T>, signal: AbortSignal) =>
  abortable<T>(signal, (resolve, reject) => {
    promise.then(resolve, reject);
  });

function abortable<T = void>(
  signal: AbortSignal,
  start: (resolve: (value: T) => void, reject: (reason: unknown) => void) => void | (() => void),
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const settle =
      <V>(end: (value: V) => void) =>
      (value: V) => {
        signal.removeEventListener("abort", abort);
        end(value);
      };
    const stop = start(settle(resolve), settle(reject));
    const abort = () => {
      stop?.();
      reject(signal.reason);
    };
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}
