import { useEffect, useState } from "react";

/** Returns the current time in milliseconds, updated every `interval` milliseconds. */
export function useNow(interval: number) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), interval);
    return () => clearInterval(timer);
  }, [interval]);
  return now;
}
