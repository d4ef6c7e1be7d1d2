import { Search } from "lucide-react";
import { useEffect, useEffectEvent, useState } from "react";

import { cn } from "./cn";
import { Input } from "./field";

/** Returns the value, debounced by `ms` milliseconds. */
export function useSettled<T>(value: T, ms = 300): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

type Props = {
  label: string;
  value: string;
  onSearch: (text: string) => void;
  /** Called with the text when Enter is pressed, which does not submit the form around the field. */
  onEnter?: (text: string) => void;
  className?: string;
};

/** A search field that calls onSearch 300 ms after the last keystroke. */
export function SearchField({ label, value, onSearch, onEnter, className }: Props) {
  const [text, setText] = useState(value);
  const [shown, setShown] = useState(value);
  if (value !== shown) {
    setShown(value);
    setText(value);
  }
  // The timer depends on the text only: a page that renders often must not postpone the search.
  const search = useEffectEvent(() => onSearch(text));
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => search(), 300);
    return () => clearTimeout(timer);
  }, [text, value]);
  return (
    <div className={cn("relative", className)}>
      <Search
        className="pointer-events-none absolute inset-y-0 left-2.5 my-auto size-4 text-muted-foreground"
        aria-hidden
      />
      <Input
        type="search"
        aria-label={label}
        placeholder={label}
        className="pl-8"
        maxLength={200}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
          event.preventDefault();
          if (text !== value) onSearch(text);
          onEnter?.(text);
        }}
      />
    </div>
  );
}
