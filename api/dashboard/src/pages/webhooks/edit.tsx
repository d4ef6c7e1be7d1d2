import { useState } from "react";

import { fieldErrors, messageAt } from "@/api/client";
import type { EventType, Ordering, Webhook } from "@/domain/webhooks";
import { FormDialog } from "@/ui/dialog";
import { useToast } from "@/ui/toast";

import { useChange } from "./change";
import { DescriptionField } from "./description-field";
import { EventPicker } from "./events";
import { FilterField } from "./filter-field";
import { type HeaderRow, headersOf, repeatedHeader } from "./headers";
import { ReplaceHeaders } from "./headers-field";
import { OrderingField } from "./ordering-field";
import { URLField } from "./url-field";

/** Changes the settings of a webhook, except its secret. */
export function EditDialog({ webhook: latest, onClose }: { webhook: Webhook; onClose: () => void }) {
  const [webhook] = useState(latest); // the edited version: If-Match must not follow a refetch
  const toast = useToast();
  const change = useChange(webhook);
  const [events, setEvents] = useState(webhook.events as EventType[]);
  const [filter, setFilter] = useState(webhook.filter ?? "");
  const [ordering, setOrdering] = useState<Ordering>(webhook.ordering);
  const [headers, setHeaders] = useState<HeaderRow[] | null>(null);
  const repeated = repeatedHeader(headers ?? []);
  function submit(form: FormData) {
    const url = String(form.get("url")).trim();
    const description = String(form.get("description")).trim();
    change.mutate(
      {
        url,
        description,
        events,
        ordering,
        ...(filter !== (webhook.filter ?? "") && { filter: filter.trim() || null }),
        ...(headers && { headers: headersOf(headers) }),
      },
      {
        onSuccess: () => {
          toast("Webhook saved");
          onClose();
        },
      },
    );
  }
  const fieldError = fieldErrors(change.error);
  return (
    <FormDialog
      wide
      onClose={onClose}
      title="Edit webhook"
      description="A new URL applies to all further attempts. New event types and filters apply to future events only."
      mutation={change}
      onSubmit={submit}
      submitLabel="Save"
      disabled={events.length === 0 || repeated !== undefined}
    >
      <URLField defaultValue={webhook.url} error={fieldError("url")} />
      <DescriptionField defaultValue={webhook.description} error={fieldError("description")} />
      <EventPicker chosen={events} onChange={setEvents} error={fieldError("events")} />
      <FilterField filter={filter} onChange={setFilter} events={events} error={messageAt(change.error, "filter")} />
      <OrderingField ordering={ordering} onChange={setOrdering} error={fieldError("ordering")} />
      <ReplaceHeaders
        names={webhook.headerNames}
        rows={headers}
        onChange={setHeaders}
        error={(path) =>
          path === "headers" && repeated !== undefined ? `${repeated} is there twice.` : fieldError(path)
        }
      />
    </FormDialog>
  );
}
