import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { api, data, fieldErrors, messageAt, newIdempotencyKey } from "@/api/client";
import { useInvalidate } from "@/api/queries";
import type { EventType, Ordering } from "@/domain/webhooks";
import { Button } from "@/ui/button";
import { Dialog, DialogActions, FormDialog } from "@/ui/dialog";

import { DescriptionField } from "./description-field";
import { EventPicker } from "./events";
import { FilterField } from "./filter-field";
import { type HeaderRow, headersOf, repeatedHeader } from "./headers";
import { HeadersField } from "./headers-field";
import { generatedSecret } from "./secret";
import { OwnSecret, NewSecret } from "./secret-field";
import { TestResult, useTest } from "./ping";
import { OrderingField } from "./ordering-field";
import { URLField } from "./url-field";

/** Creates a webhook, then shows its secret and offers a test. */
export function CreateDialog({ onClose }: { onClose: () => void }) {
  const invalidate = useInvalidate();
  const navigate = useNavigate();
  const [idempotencyKey] = useState(newIdempotencyKey);
  const [{ secret, own }, setSecret] = useState(generatedSecret);
  const [events, setEvents] = useState<EventType[]>([]);
  const [filter, setFilter] = useState("");
  const [ordering, setOrdering] = useState<Ordering>("none");
  const [headers, setHeaders] = useState<HeaderRow[]>([]);
  const repeated = repeatedHeader(headers);
  const create = useMutation({
    mutationFn: (texts: { url: string; description: string }) =>
      data(
        api.POST("/webhooks", {
          body: { ...texts, events, filter: filter.trim() || undefined, ordering, secret, headers: headersOf(headers) },
          params: { header: { "Idempotency-Key": idempotencyKey } },
        }),
      ),
    onSuccess: () => invalidate("webhooks"),
  });
  const test = useTest(create.data?.id ?? "");
  const created = create.data;
  if (created) {
    return (
      <Dialog
        explicit
        onClose={onClose}
        title="Webhook created"
        description={
          own
            ? "Every delivery is signed with your secret. Let your server verify the signature."
            : "Every delivery is signed with this secret. Copy it to your server now: it is shown only once."
        }
      >
        {!own && <NewSecret secret={secret} />}
        <TestResult test={test} />
        <DialogActions>
          <Button variant="outline" onClick={() => void navigate({ to: "/webhooks/$id", params: { id: created.id } })}>
            Open webhook
          </Button>
          <Button variant="outline" busy={test.isPending} onClick={() => test.mutate()}>
            Send test
          </Button>
          <Button onClick={onClose}>Done</Button>
        </DialogActions>
      </Dialog>
    );
  }
  const fieldError = fieldErrors(create.error);
  return (
    <FormDialog
      wide
      onClose={onClose}
      title="Create webhook"
      mutation={create}
      onSubmit={(form) =>
        create.mutate({ url: String(form.get("url")).trim(), description: String(form.get("description")).trim() })
      }
      submitLabel="Create"
      disabled={events.length === 0 || repeated !== undefined}
    >
      <URLField
        placeholder="https://example.com/hooks/comanda"
        hint="The HTTPS URL where your server accepts POST requests."
        error={fieldError("url")}
      />
      <DescriptionField error={fieldError("description")} />
      <EventPicker chosen={events} onChange={setEvents} error={fieldError("events")} />
      <FilterField filter={filter} onChange={setFilter} events={events} error={messageAt(create.error, "filter")} />
      <OrderingField ordering={ordering} onChange={setOrdering} error={fieldError("ordering")} />
      <HeadersField
        rows={headers}
        onChange={setHeaders}
        error={(path) =>
          path === "headers" && repeated !== undefined ? `${repeated} is there twice.` : fieldError(path)
        }
      />
      <OwnSecret own={own} onChange={setSecret} error={fieldError("secret")} />
    </FormDialog>
  );
}
