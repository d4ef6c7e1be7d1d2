import { useState } from "react";

import type { Conditions } from "@/domain/filters";
import { localDecimals, parseMoney, plainMoney } from "@/domain/money";
import { fulfillments, sources } from "@/domain/orders";
import { useSession } from "@/session/session";
import { Checkbox, TextField } from "@/ui/field";

import { Channels } from "./filter-channels";

type Props = { conditions: Conditions; onChange: (conditions: Conditions) => void };

/** The conditions of a filter. */
export function ConditionFields({ conditions, onChange }: Props) {
  return (
    <div className="grid gap-4 rounded-md border p-3">
      <Values
        label="Fulfillment type"
        labels={fulfillments}
        chosen={conditions.fulfillmentTypes}
        onChange={(fulfillmentTypes) => onChange({ ...conditions, fulfillmentTypes })}
      />
      <Values
        label="Source"
        labels={sources}
        chosen={conditions.sources}
        onChange={(next) => onChange({ ...conditions, sources: next })}
      />
      <Channels chosen={conditions.channels} onChange={(channels) => onChange({ ...conditions, channels })} />
      <MinTotal
        minor={conditions.minTotalMinor}
        onChange={(minTotalMinor) => onChange({ ...conditions, minTotalMinor })}
      />
      <p className="text-xs text-muted-foreground">
        The conditions apply to the events of orders: those that match all of them are delivered. Events of payments,
        customers, products and reservations are always delivered.
      </p>
    </div>
  );
}

type ValuesProps<T extends string> = {
  label: string;
  labels: Record<T, string>;
  chosen: T[];
  onChange: (chosen: T[]) => void;
};

/** The permitted values of a member. None means all. */
function Values<T extends string>({ label, labels, chosen, onChange }: ValuesProps<T>) {
  const all = Object.keys(labels) as T[];
  const toggle = (value: T, on: boolean) => onChange(all.filter((one) => (one === value ? on : chosen.includes(one))));
  return (
    <fieldset>
      <legend className="mb-1.5 text-sm">
        {label} {chosen.length === 0 && <span className="text-muted-foreground">(any)</span>}
      </legend>
      <div className="flex flex-wrap gap-x-5 gap-y-2">
        {all.map((value) => (
          <Checkbox
            key={value}
            className="pointer-coarse:min-h-11 pointer-coarse:items-center"
            checked={chosen.includes(value)}
            onChange={(event) => toggle(value, event.target.checked)}
            label={labels[value]}
          />
        ))}
      </div>
    </fieldset>
  );
}

/** The least total of an order. While the text is no amount, there is no such condition, and the form is not sent. */
function MinTotal({ minor, onChange }: { minor: number | null; onChange: (minor: number | null) => void }) {
  const { defaultView, store } = useSession();
  const { currency } = defaultView;
  const [text, setText] = useState(minor === null ? "" : plainMoney(minor, currency));
  const example = `Enter an amount, such as ${localDecimals("50.00")}`;
  const several = new Set(store?.storeViews.map((view) => view.currency)).size > 1;
  const fault = text.trim() !== "" && parseMoney(text, currency) === null;
  return (
    <TextField
      label={`Minimum total in ${currency}`}
      className="max-w-64"
      inputMode="decimal"
      autoComplete="off"
      ref={(input) => input?.setCustomValidity(fault ? example : "")}
      value={text}
      onChange={(event) => {
        setText(event.target.value);
        onChange(parseMoney(event.target.value, currency));
      }}
      error={fault ? example : undefined}
      hint={several ? "The total of an order in another currency is compared with the same number." : undefined}
    />
  );
}
