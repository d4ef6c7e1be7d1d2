import { Plus, Trash2 } from "lucide-react";

import * as limits from "@/api/limits";
import { fulfillments, fulfillmentTypes } from "@/domain/orders";
import { dayOf } from "@/domain/zone";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { Checkbox, TextField } from "@/ui/field";
import { useNow } from "@/ui/now";
import { Card } from "@/ui/page";

import type { Closure } from "./change";

type Props = {
  closures: Closure[];
  onChange: (closures: Closure[]) => void;
  errorOf: (path: string) => string | undefined;
};

/** The days on which the store does not open. */
export function Closures({ closures, onChange, errorOf }: Props) {
  const { timezone } = useSession();
  const today = dayOf(useNow(60_000), timezone);
  const full = closures.length >= limits.ChangeSettingsRequest.closures.maxItems;
  return (
    <Card
      title="Closures"
      actions={
        <Button
          size="small"
          variant="outline"
          disabled={full}
          onClick={() => onChange([...closures, { from: today, to: today }])}
        >
          <Plus aria-hidden /> Add closure
        </Button>
      }
    >
      {closures.length === 0 && (
        <p className="text-sm text-muted-foreground">
          No closures. Add the days on which the store stays closed, such as holidays.
        </p>
      )}
      <ul className="grid gap-4" aria-label="Closures">
        {closures.map((closure, i) => (
          <Row
            key={i}
            closure={closure}
            error={errorOf(`closures[${i}]`)}
            onChange={(change) => onChange(closures.map((one, at) => (at === i ? { ...one, ...change } : one)))}
            onRemove={() => onChange(closures.filter((_, at) => at !== i))}
          />
        ))}
      </ul>
    </Card>
  );
}

type RowProps = {
  closure: Closure;
  error?: string;
  onChange: (change: Partial<Closure>) => void;
  onRemove: () => void;
};

function Row({ closure, error, onChange, onRemove }: RowProps) {
  const of = closure.types ?? [];
  return (
    <li className="grid gap-3 border-b pb-4 last:border-b-0 last:pb-0 sm:grid-cols-[10rem_10rem_1fr_auto]">
      <TextField
        label="First day"
        type="date"
        value={closure.from}
        onChange={(event) => {
          const from = event.target.value;
          onChange(closure.to < from ? { from, to: from } : { from });
        }}
        error={error}
      />
      <TextField
        label="Last day"
        type="date"
        min={closure.from}
        value={closure.to}
        onChange={(event) => onChange({ to: event.target.value })}
      />
      <TextField
        label="Reason"
        {...limits.ClosureRequest.reason}
        placeholder="Christmas"
        autoComplete="off"
        value={closure.reason ?? ""}
        onChange={(event) => onChange({ reason: event.target.value })}
      />
      <Button size="icon" variant="ghost" aria-label="Remove this closure" className="sm:mt-6.5" onClick={onRemove}>
        <Trash2 />
      </Button>
      <fieldset className="flex flex-wrap items-center gap-4 text-sm sm:col-span-4">
        <legend className="sr-only">Closed for</legend>
        {fulfillmentTypes.map((type) => (
          <Checkbox
            key={type}
            label={fulfillments[type]}
            checked={of.length === 0 || of.includes(type)}
            onChange={(event) => {
              const all = of.length === 0 ? [...fulfillmentTypes] : of;
              const next = event.target.checked ? [...all, type] : all.filter((one) => one !== type);
              // Without any type, the closure would apply to all of them.
              if (next.length > 0) onChange({ types: next.length === fulfillmentTypes.length ? undefined : next });
            }}
          />
        ))}
      </fieldset>
    </li>
  );
}
