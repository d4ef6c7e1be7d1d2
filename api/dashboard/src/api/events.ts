import { useEffect, useRef, useState } from "react";

import { authorized } from "./client";

/** One server-sent event. */
export type ServerEvent = { event: string; data: string };

/**
 * Takes the text of a stream of server-sent events as it arrives and hands out what is
 * complete. Comments and members that nobody asks for are passed over.
 */
export function eventReader(onEvent: (event: ServerEvent) => void): (text: string) => void {
  let rest = "";
  let event = "message";
  let lines: string[] = [];
  return (text) => {
    rest += text;
    const complete = rest.split("\n");
    rest = complete.pop()!;
    for (const raw of complete) {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line === "") {
        if (lines.length > 0) onEvent({ event, data: lines.join("\n") });
        event = "message";
        lines = [];
        continue;
      }
      const [name, value] = split(line);
      if (name === "event") event = value;
      if (name === "data") lines.push(value);
    }
  };
}

function split(line: string): [string, string] {
  const colon = line.indexOf(":");
  if (colon < 0) return [line, ""];
  const value = line.slice(colon + 1);
  return [line.slice(0, colon), value.startsWith(" ") ? value.slice(1) : value];
}

const first = 2_000;
const longest = 30_000;

/** After that long without even a comment the connection is dead, whatever the system says. */
const silence = 40_000;

/** Reads a stream until it ends, silence included. */
async function follow(path: string, signal: AbortSignal, onOpen: () => void, onEvent: (event: ServerEvent) => void) {
  const ours = new AbortController();
  const stop = () => ours.abort();
  signal.addEventListener("abort", stop);
  let watch = setTimeout(stop, silence);
  try {
    const response = await authorized(new Request(new URL(path, location.origin), { signal: ours.signal, headers: { Accept: "text/event-stream" } }));
    if (!response.ok || !response.body) return false;
    onOpen();
    const read = eventReader(onEvent);
    const decoder = new TextDecoder();
    for (const reader = response.body.getReader(); ; ) {
      const { done, value } = await reader.read();
      if (done) return true;
      clearTimeout(watch);
      watch = setTimeout(stop, silence);
      read(decoder.decode(value, { stream: true }));
    }
  } catch {
    return false;
  } finally {
    clearTimeout(watch);
    signal.removeEventListener("abort", stop);
  }
}

/**
 * Follows a stream for as long as the component is there, and begins anew when it ends. What
 * happened in between nobody tells, so onOpen is for reading everything again. Reports whether
 * the stream is there now; while it is not, it is for the caller to ask from time to time.
 */
export function useEventStream(path: string, scope: string, { onOpen, onEvent }: { onOpen: () => void; onEvent: (event: ServerEvent) => void }) {
  const [live, setLive] = useState(false);
  const handlers = useRef({ onOpen, onEvent });
  useEffect(() => {
    handlers.current = { onOpen, onEvent };
  });
  useEffect(() => {
    const stopped = new AbortController();
    void (async () => {
      for (let wait = first; !stopped.signal.aborted; ) {
        let opened = false;
        await follow(
          path,
          stopped.signal,
          () => {
            opened = true;
            setLive(true);
            handlers.current.onOpen();
          },
          (event) => handlers.current.onEvent(event),
        );
        if (stopped.signal.aborted) return;
        setLive(false);
        wait = opened ? first : Math.min(2 * wait, longest);
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    })();
    return () => stopped.abort();
  }, [path, scope]);
  return live;
}
