import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { api, data, faultsIn, idempotencyKey } from "@/api/client";
import { Button } from "@/ui/button";
import { Dialog, DialogActions, FormDialog } from "@/ui/dialog";

import { type EventType, webhooksKey } from "./data";
import { EventPicker } from "./events";
import { madeSecret } from "./secret";
import { OwnSecret, ShownSecret } from "./secret-field";
import { TestResult, useTest } from "./ping";
import { URLField } from "./url-field";

/** Creates a webhook, shows its secret, and tries it out. */
export function CreateDialog({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [once] = useState(idempotencyKey);
  const [{ secret, own }, setSecret] = useState(madeSecret);
  const [events, setEvents] = useState<EventType[]>([]);
  const create = useMutation({
    mutationFn: (url: string) => data(api.POST("/webhooks", { body: { url, events, secret }, params: { header: { "Idempotency-Key": once } } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: webhooksKey }),
  });
  const test = useTest(create.data?.id ?? "");
  const created = create.data;
  if (created) {
    return (
      <Dialog
        stays
        onClose={onClose}
        title="Your webhook is ready"
        description={
          own
            ? "Every delivery is signed with the secret that you gave. Does your server know it?"
            : "Give your server this secret: every delivery is signed with it. It is shown this once; when it is lost, rotate it."
        }
      >
        {!own && <ShownSecret secret={secret} />}
        <TestResult test={test} />
        <DialogActions>
          <Button variant="outline" onClick={() => void navigate({ to: "/webhooks/$id", params: { id: created.id } })}>
            Open its page
          </Button>
          <Button variant="outline" busy={test.isPending} onClick={() => test.mutate()}>
            Send a test
          </Button>
          <Button onClick={onClose}>Done</Button>
        </DialogActions>
      </Dialog>
    );
  }
  const wrong = faultsIn(create.error);
  return (
    <FormDialog
      wide
      onClose={onClose}
      title="Create a webhook"
      doing={create}
      onSubmit={(form) => create.mutate(String(form.get("url")).trim())}
      deed="Create"
      disabled={events.length === 0}
    >
      <URLField placeholder="https://example.com/hooks/comanda" hint="Where your server takes POST requests. https only." error={wrong("url")} />
      <EventPicker chosen={events} onChange={setEvents} error={wrong("events")} />
      <OwnSecret own={own} onChange={setSecret} error={wrong("secret")} />
    </FormDialog>
  );
}
