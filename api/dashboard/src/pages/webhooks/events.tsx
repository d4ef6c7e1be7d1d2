import { useId, useState } from "react";
import { useQuery } from "@tanstack/react-query";

import { queries } from "@/api/queries";
import { allEvents, type EventType, isSubscribable } from "@/domain/webhooks";
import { Button } from "@/ui/button";
import { Checkbox } from "@/ui/field";
import { QueryState } from "@/ui/page";
import { CodeBlock } from "@/ui/text";

/** A selection of event types from the catalogue. */
export function EventPicker({
  chosen,
  onChange,
  error,
}: {
  chosen: EventType[];
  onChange: (events: EventType[]) => void;
  error?: string;
}) {
  const catalogue = useQuery(queries.eventTypes);
  const id = useId();
  const all = (catalogue.data ?? []).filter(isSubscribable);
  const every = chosen.includes(allEvents);
  const groupOf = (name: string) => name.split(".")[0]!;
  const toggle = (names: EventType[], on: boolean) =>
    onChange(on ? [...new Set([...chosen, ...names])] : chosen.filter((name) => !names.includes(name)));
  return (
    <fieldset className="grid gap-2" aria-describedby={error ? id : undefined}>
      <legend className="mb-1 text-sm font-medium">Events</legend>
      <QueryState query={catalogue} />
      {all.length > 0 && (
        <>
          <div className="flex items-center gap-2 text-xs text-muted-foreground">
            <span className="mr-auto" role="status">
              {every ? "All event types selected" : `${chosen.length} of ${all.length} selected`}
            </span>
            <Button
              variant="outline"
              size="small"
              disabled={every}
              onClick={() =>
                toggle(
                  all.map((type) => type.name),
                  true,
                )
              }
            >
              Select all
            </Button>
            <Button variant="outline" size="small" onClick={() => onChange([])}>
              Clear
            </Button>
          </div>
          <Checkbox
            checked={every}
            onChange={(event) => onChange(event.target.checked ? [allEvents] : [])}
            label="All event types, including those of later releases"
          />
          <div className="grid gap-4 rounded-md border p-3 sm:grid-cols-2">
            {[...new Set(all.map((type) => groupOf(type.name)))].map((group) => (
              <div key={group} className="grid content-start gap-2">
                <p className="text-xs font-semibold text-muted-foreground capitalize">{group}</p>
                {all
                  .filter((type) => groupOf(type.name) === group)
                  .map((type) => (
                    <div key={type.name} className="grid gap-1">
                      <Checkbox
                        checked={every || chosen.includes(type.name)}
                        disabled={every}
                        onChange={(event) => toggle([type.name], event.target.checked)}
                        label={
                          <>
                            <code className="text-xs">{type.name}</code>
                            <span className="block text-xs text-muted-foreground">{type.description}</span>
                          </>
                        }
                      />
                      <Example name={type.name} value={type.example} />
                    </div>
                  ))}
              </div>
            ))}
          </div>
        </>
      )}
      {error && (
        <p id={id} className="text-xs text-danger">
          {error}
        </p>
      )}
    </fieldset>
  );
}

/** An example of the body of an event, closed at first. */
function Example({ name, value }: { name: string; value: unknown }) {
  const [open, setOpen] = useState(false);
  return (
    <details className="pl-6 text-xs" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="cursor-pointer text-muted-foreground" aria-label={`Example of ${name}`}>
        Example
      </summary>
      {open && <CodeBlock className="mt-1" text={JSON.stringify(value, null, 2)} label={name} />}
    </details>
  );
}
