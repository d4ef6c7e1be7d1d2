import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { api, data, faultsIn } from "@/api/client";
import { FormDialog, Shown } from "@/ui/dialog";
import { SelectField } from "@/ui/field";
import { useToast } from "@/ui/toast";

import { type EventType, type Webhook, type WebhookList, ifMatch, webhookListKey, webhooksKey } from "./data";
import { EventPicker } from "./events";
import { madeSecret } from "./secret";
import { OwnSecret, ShownSecret } from "./secret-field";
import { URLField } from "./url-field";

type Props = { webhook: Webhook; onClose: () => void };

/** Changes a webhook, unless somebody else has done so since it was read. */
export function useChange(webhook: Webhook) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: { url?: string; events?: EventType[]; isActive?: boolean }) =>
      data(api.PATCH("/webhooks/{id}", { params: { path: { id: webhook.id }, header: ifMatch(webhook) }, body })),
    onSettled: () => queries.invalidateQueries({ queryKey: webhooksKey }),
  });
}

export function EditDialog({ webhook: now, onClose }: Props) {
  const [webhook] = useState(now); // what is being edited, whatever is read meanwhile
  const toast = useToast();
  const change = useChange(webhook);
  const [events, setEvents] = useState(webhook.events as EventType[]);
  function submit(form: FormData) {
    const url = String(form.get("url")).trim();
    change.mutate(
      { url, events },
      {
        onSuccess: () => {
          toast("The webhook is changed");
          onClose();
        },
      },
    );
  }
  const wrong = faultsIn(change.error);
  return (
    <FormDialog
      wide
      onClose={onClose}
      title="Edit the webhook"
      description="The URL counts from the next attempt of every delivery. Events count for what happens from now on."
      doing={change}
      onSubmit={submit}
      deed="Save"
      disabled={events.length === 0}
    >
      <URLField defaultValue={webhook.url} error={wrong("url")} />
      <EventPicker chosen={events} onChange={setEvents} error={wrong("events")} />
    </FormDialog>
  );
}

const hour = 3600;
const overlaps = { "0": "Not at all", [hour]: "1 hour", [24 * hour]: "24 hours", [7 * 24 * hour]: "7 days" };

export function RotateDialog({ webhook: now, onClose }: Props) {
  const [webhook] = useState(now);
  const queries = useQueryClient();
  const [{ secret, own }, setSecret] = useState(madeSecret);
  const [overlap, setOverlap] = useState(String(24 * hour));
  const rotate = useMutation({
    mutationFn: () =>
      data(
        api.POST("/webhooks/{id}/rotate-secret", {
          params: { path: { id: webhook.id }, header: ifMatch(webhook) },
          body: { secret, overlapSeconds: Number(overlap) },
        }),
      ),
    onSettled: () => queries.invalidateQueries({ queryKey: webhooksKey }),
  });
  if (rotate.data) {
    return (
      <Shown
        onClose={onClose}
        title="The secret is new"
        description="It counts from the next attempt on."
        secret={own ? undefined : secret}
        copy="Copy the secret"
        testId="secret"
      />
    );
  }
  const wrong = faultsIn(rotate.error);
  return (
    <FormDialog
      onClose={onClose}
      title="Rotate the secret?"
      description="Let your server know both secrets, the old and the new one, before you go on. The new one is shown this once."
      doing={rotate}
      onSubmit={() => rotate.mutate()}
      deed="Rotate"
    >
      {!own && <ShownSecret secret={secret} />}
      <OwnSecret own={own} onChange={setSecret} error={wrong("secret")} />
      <SelectField
        label="Sign with the old secret as well for"
        hint="In the header webhook-signature of Standard Webhooks. X-Webhook-Signature has the new one alone."
        value={overlap}
        error={wrong("overlapSeconds")}
        onChange={(event) => setOverlap(event.target.value)}
      >
        {Object.entries(overlaps).map(([seconds, name]) => (
          <option key={seconds} value={seconds}>
            {name}
          </option>
        ))}
      </SelectField>
    </FormDialog>
  );
}

export function SwitchOffDialog({ webhook, onClose }: Props) {
  const toast = useToast();
  const change = useChange(webhook);
  const switchOff = () =>
    change.mutate(
      { isActive: false },
      {
        onSuccess: () => {
          toast("The webhook is switched off");
          onClose();
        },
      },
    );
  return (
    <FormDialog danger onClose={onClose} title="Switch this webhook off?" doing={change} onSubmit={switchOff} deed="Switch off" keep="Leave it on">
      <ul className="grid list-disc gap-1.5 pl-5 text-sm">
        <li>New events are not sent here, and are not kept for later.</li>
        <li>What is on its way becomes a dead letter at its next attempt, and can be replayed as long as its event is kept.</li>
        <li>Switched on again, it starts without failures.</li>
      </ul>
    </FormDialog>
  );
}

export function DeleteDialog({ webhook, onClose }: Props) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const toast = useToast();
  const remove = useMutation({
    mutationFn: () => api.DELETE("/webhooks/{id}", { params: { path: { id: webhook.id }, header: ifMatch(webhook) } }),
    onSuccess: async () => {
      toast("The webhook is deleted");
      // What the list shows until it is read again is asked for, and would be refused.
      queries.setQueryData<WebhookList>(webhookListKey, (list) => list && { ...list, data: list.data.filter((one) => one.id !== webhook.id) });
      await navigate({ to: "/webhooks" });
      queries.removeQueries({ queryKey: [...webhooksKey, webhook.id] });
      await queries.invalidateQueries({ queryKey: webhooksKey });
    },
  });
  return (
    <FormDialog
      danger
      onClose={onClose}
      title="Delete this webhook?"
      description={<span className="break-all">{webhook.url}</span>}
      doing={remove}
      onSubmit={() => remove.mutate()}
      deed="Delete"
      keep="Keep it"
    >
      <ul className="grid list-disc gap-1.5 pl-5 text-sm">
        <li>Nothing is sent here any more, from the next attempt on.</li>
        <li>What waits to be sent, retries and dead letters included, is cancelled and cannot be replayed.</li>
        <li>Its attempts can no longer be looked at.</li>
        <li>It cannot be brought back. To pause, switch it off instead.</li>
      </ul>
    </FormDialog>
  );
}
