import { Minus, Plus } from "lucide-react";
import { useState } from "react";

import { Button } from "@/ui/button";

type Props = {
  /** The name of the counted thing, for screen readers. */
  name: string;
  value: number;
  min?: number;
  max: number;
  onChange: (value: number) => void;
};

/** A whole number with buttons that add and remove one. While the text is no valid number, the value stays. */
export function Stepper({ name, value, min = 0, max, onChange }: Props) {
  const [text, setText] = useState<string>();
  return (
    <span className="inline-flex shrink-0 items-center gap-1">
      <Button
        variant="outline"
        size="icon"
        className="size-8"
        aria-label={`Remove one ${name}`}
        disabled={value <= min}
        onClick={() => onChange(value - 1)}
      >
        <Minus />
      </Button>
      <input
        aria-label={`Quantity of ${name}`}
        inputMode="numeric"
        className="h-8 w-12 rounded-md border bg-surface text-center text-sm tabular-nums pointer-coarse:min-h-11"
        value={text ?? value}
        onChange={(event) => {
          const digits = event.target.value.replace(/\D/g, "");
          setText(digits);
          const quantity = Number(digits);
          if (digits !== "" && quantity >= Math.max(min, 1) && quantity <= max) onChange(quantity);
        }}
        onBlur={() => setText(undefined)}
      />
      <Button
        variant="outline"
        size="icon"
        className="size-8"
        aria-label={`Add one ${name}`}
        disabled={value >= max}
        onClick={() => onChange(value + 1)}
      >
        <Plus />
      </Button>
    </span>
  );
}
