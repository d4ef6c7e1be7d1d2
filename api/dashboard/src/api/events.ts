import { type EventSourceMessage, createParser } from "eventsource-parser";
import { useEffect, useEffectEvent, useState } from "react";

import { authorized } from "./client";

/** Delays between connection attempts, in milliseconds. The delay doubles with each failure. */
const firstDelay = 2_000;
const maxDelay = 30_000;

/** A connection without data for this many milliseconds is dead: the server sends a comment every 15 seconds. */
const silenceLimit = 40_000;

type Handlers = {
  /** Called when the stream opens. Events during an interruption are lost, so the caller reads what it missed. */
  onOpen: () => void;
  /** Called with the data of each event. */
  onEvent: (data: string) => void;
};

/** Reads a stream of server-sent events until it ends, fails or goes silent. */
async function readStream(path: string, signal: AbortSignal, { onOpen, onEvent }: Handlers) {
  const silence = new AbortController();
  const watch = () => setTimeout(() => silence.abort(), silenceLimit);
  let watchdog = watch();
  try {
    const request = new Request(new URL(path, location.origin), {
      signal: AbortSignal.any([signal, silence.signal]),
      headers: { Accept: "text/event-stream" },
    });
    const response = await authorized(request);
    if (!response.ok || !response.body) return;
    onOpen();
    const parser = createParser({ onEvent: ({ data }: EventSourceMessage) => onEvent(data) });
    const decoder = new TextDecoder();
    for (const reader = response.body.getReader(); ;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(watchdog);
      watchdog = watch();
      parser.feed(decoder.decode(value, { stream: true }));
    }
  } catch {
    // A failed connection is handled like one that the server has closed: the caller reconnects.
  } finally {
    clearTimeout(watchdog);
  }
}

/**
 * Subscribes to a stream while the component is mounted, and reconnects when the stream ends or the browser is
 * online again. Returns whether the stream is open; while it is not, the caller must poll.
 */
export function useEventStream(path: string, scope: string, handlers: Handlers) {
  const [live, setLive] = useState(false);
  const opened = useEffectEvent(() => handlers.onOpen());
  const received = useEffectEvent((data: string) => handlers.onEvent(data));
  useEffect(() => {
    const stopped = new AbortController();
    void (async () => {
      for (let delay = firstDelay; !stopped.signal.aborted;) {
        let open = false;
        const onOpen = () => {
          open = true;
          setLive(true);
          opened();
        };
        await readStream(path, stopped.signal, { onOpen, onEvent: (data) => received(data) });
        if (stopped.signal.aborted) return;
        setLive(false);
        delay = open ? firstDelay : Math.min(2 * delay, maxDelay);
        await pause(delay);
      }
    })();
    return () => stopped.abort();
  }, [path, scope]);
  return live;
}

/** Waits for a number of milliseconds, or until the browser is online again. */
const pause = (ms: number) =>
  new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    addEventListener("online", done);
  });
