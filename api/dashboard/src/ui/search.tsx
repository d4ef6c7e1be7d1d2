import { Search } from "lucide-react";
import { useEffect, useState } from "react";

import { cn } from "./cn";
import { Input } from "./field";

/** The value once it has stayed the same for that long. */
export function useSettled<T>(value: T, ms = 300): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

type Props = { label: string; value: string; onSearch: (text: string) => void; className?: string };

/** Searches as one types, a moment after each pause. */
export function SearchField({ label, value, onSearch, className }: Props) {
  const [text, setText] = useState(value);
  const [shown, setShown] = useState(value);
  if (value !== shown) {
    setShown(value);
    setText(value);
  }
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onSearch(text), 300);
    return () => clearTimeout(timer);
  });
  return (
    <div className={cn("relative", className)}>
      <Search className="pointer-events-none absolute top-2.5 left-2.5 size-4 text-muted-foreground" aria-hidden />
      <Input type="search" aria-label={label} placeholder={label} className="pl-8" maxLength={200} value={text} onChange={(event) => setText(event.target.value)} />
    </div>
  );
}
