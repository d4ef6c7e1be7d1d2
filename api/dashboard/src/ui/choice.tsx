import { ToggleGroup } from "radix-ui";

import { cn } from "./cn";

type Props<T extends string> = {
  label: string;
  value: T;
  options: Record<T, string>;
  onChange: (value: T) => void;
  /** The height: that of a normal or of a small button. */
  size?: "normal" | "small";
};

/** A selection of one option, with all options visible. The border is an overlay and does not add to the height. */
export const Choice = <T extends string>({ label, value, options, onChange, size = "normal" }: Props<T>) => (
  <ToggleGroup.Root
    type="single"
    aria-label={label}
    value={value}
    onValueChange={(next) => next && onChange(next as T)}
    className={cn(
      "relative inline-flex rounded-md p-0.5 pointer-coarse:p-0",
      "after:pointer-events-none after:absolute after:inset-0 after:rounded-md after:border after:border-border",
    )}
  >
    {(Object.entries(options) as [T, string][]).map(([option, text]) => (
      <ToggleGroup.Item
        key={option}
        value={option}
        className={cn(
          "grow rounded px-2.5 text-xs font-medium pointer-coarse:h-11 text-muted-foreground hover:text-foreground",
          size === "small" ? "h-7" : "h-8",
          "data-[state=on]:bg-muted data-[state=on]:text-foreground",
        )}
      >
        {text}
      </ToggleGroup.Item>
    ))}
  </ToggleGroup.Root>
);
