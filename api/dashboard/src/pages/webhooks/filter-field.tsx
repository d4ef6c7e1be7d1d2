import { useState } from "react";

import { CreateWebhookRequest } from "@/api/limits";
import { conditionsOf, filterOf } from "@/domain/filters";
import type { EventType } from "@/domain/webhooks";
import { Button } from "@/ui/button";
import { Choice } from "@/ui/choice";
import { Field, Textarea } from "@/ui/field";

import { ConditionFields } from "./filter-conditions";
import { FilterPreview, useFilterPreview } from "./filter-preview";

type Props = {
  /** The CEL expression; "" delivers all events. */
  filter: string;
  onChange: (filter: string) => void;
  /** The selected event types, whose newest events the preview shows. */
  events: EventType[];
  error?: string;
};

const forms = { conditions: "Conditions", expression: "Expression" };

/** The filter of a webhook: conditions that the form builds into an expression, or the expression itself. */
export function FilterField({ filter, onChange, events, error: refusal }: Props) {
  const conditions = conditionsOf(filter);
  const [form, setForm] = useState<keyof typeof forms>(conditions ? "conditions" : "expression");
  const preview = useFilterPreview(filter, events);
  const error = preview.refusal ?? refusal;
  return (
    <fieldset className="grid gap-3">
      <legend className="mb-1 text-sm font-medium">Filter</legend>
      <div>
        <Choice label="Form of the filter" size="small" value={form} options={forms} onChange={setForm} />
      </div>
      {form === "expression" && (
        <Field
          label="CEL expression"
          error={error}
          hint={
            'Over type and data, such as data.source == "WEB". An event is delivered if it is true or fails. ' +
            "Leave it empty to deliver all events."
          }
        >
          {(ids) => (
            <Textarea
              {...ids}
              className="font-mono"
              spellCheck={false}
              autoCapitalize="off"
              {...CreateWebhookRequest.filter}
              value={filter}
              onChange={(event) => onChange(event.target.value)}
            />
          )}
        </Field>
      )}
      {form === "conditions" && conditions && (
        <>
          <ConditionFields conditions={conditions} onChange={(next) => onChange(filterOf(next))} />
          {filter.trim() !== "" && <code className="text-xs break-words text-muted-foreground">{filter}</code>}
          {error && <p className="text-xs text-danger">{error}</p>}
        </>
      )}
      {form === "conditions" && !conditions && (
        <div className="grid justify-items-start gap-3 rounded-md border p-3 text-sm">
          <p>The conditions cannot show the present expression. It stays as it is.</p>
          <code className="text-xs break-words">{filter}</code>
          <Button variant="outline" size="small" onClick={() => onChange("")}>
            Discard expression
          </Button>
        </div>
      )}
      <FilterPreview preview={preview} />
    </fieldset>
  );
}
