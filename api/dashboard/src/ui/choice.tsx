import { ToggleGroup } from "radix-ui";

import { cn } from "./cn";

type Props<T extends string> = { label: string; value: T; options: Record<T, string>; onChange: (value: T) => void };

/** A selection of one option, with all options visible. */
export const Choice = <T extends string>({ label, value, options, onChange }: Props<T>) => (
  <ToggleGroup.Root
    type="single"
    aria-label={label}
    value={value}
    onValueChange={(next) => next && onChange(next as T)}
    className="inline-flex rounded-md border p-0.5"
  >
    {(Object.entries(options) as [T, string][]).map(([option, text]) => (
      <ToggleGroup.Item
        key={option}
        value={option}
        className={cn(
          "h-7 grow rounded px-2.5 text-xs font-medium pointer-coarse:h-11 text-muted-foreground hover:text-foreground",
          "data-[state=on]:bg-muted data-[state=on]:text-foreground",
        )}
      >
        {text}
      </ToggleGroup.Item>
    ))}
  </ToggleGroup.Root>
);
