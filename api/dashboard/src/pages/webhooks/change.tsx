import type { components } from "@comanda/client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { api, data, fieldErrors, ifMatch } from "@/api/client";
import { useInvalidate, queries } from "@/api/queries";
import type { Webhook } from "@/domain/webhooks";
import { FormDialog, SecretDialog } from "@/ui/dialog";
import { SelectField } from "@/ui/field";
import { useToast } from "@/ui/toast";

import { generatedSecret } from "./secret";
import { OwnSecret, NewSecret } from "./secret-field";

type Props = { webhook: Webhook; onClose: () => void };

/** Returns a mutation that changes a webhook. It fails if the webhook has changed since it was loaded. */
export function useChange(webhook: Webhook) {
  const invalidate = useInvalidate();
  return useMutation({
    mutationFn: (body: components["schemas"]["ChangeWebhookRequest"]) =>
      data(api.PATCH("/webhooks/{id}", { params: { path: { id: webhook.id }, header: ifMatch(webhook) }, body })),
    onSettled: () => invalidate("webhooks"),
  });
}

const hour = 3600;
const overlaps = { "0": "No overlap", [hour]: "1 hour", [24 * hour]: "24 hours", [7 * 24 * hour]: "7 days" };

export function RotateDialog({ webhook: latest, onClose }: Props) {
  const [webhook] = useState(latest);
  const invalidate = useInvalidate();
  const [{ secret, own }, setSecret] = useState(generatedSecret);
  const [overlap, setOverlap] = useState(String(24 * hour));
  const rotate = useMutation({
    mutationFn: () =>
      data(
        api.POST("/webhooks/{id}/rotate-secret", {
          params: { path: { id: webhook.id }, header: ifMatch(webhook) },
          body: { secret, overlapSeconds: Number(overlap) },
        }),
      ),
    onSettled: () => invalidate("webhooks"),
  });
  if (rotate.data) {
    return (
      <SecretDialog
        onClose={onClose}
        title="Secret rotated"
        description="The new secret signs all attempts from now on."
        secret={own ? undefined : secret}
        copyLabel="Copy secret"
        testId="secret"
      />
    );
  }
  const fieldError = fieldErrors(rotate.error);
  return (
    <FormDialog
      onClose={onClose}
      title="Rotate secret"
      description="First let your server accept both secrets. The new secret is shown only once."
      mutation={rotate}
      onSubmit={() => rotate.mutate()}
      submitLabel="Rotate"
    >
      {!own && <NewSecret secret={secret} />}
      <OwnSecret own={own} onChange={setSecret} error={fieldError("secret")} />
      <SelectField
        label="Overlap with the old secret"
        hint={
          <>
            During the overlap, the header webhook-signature has both signatures. X-Webhook-Signature has only the new
            one.
          </>
        }
        value={overlap}
        error={fieldError("overlapSeconds")}
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

export function TurnOffDialog({ webhook, onClose }: Props) {
  const toast = useToast();
  const change = useChange(webhook);
  const turnOff = () =>
    change.mutate(
      { isActive: false },
      {
        onSuccess: () => {
          toast("Webhook turned off");
          onClose();
        },
      },
    );
  return (
    <FormDialog
      danger
      onClose={onClose}
      title="Turn off this webhook?"
      mutation={change}
      onSubmit={turnOff}
      submitLabel="Turn off"
      cancelLabel="Keep on"
    >
      <ul className="grid list-disc gap-1.5 pl-5 text-sm">
        <li>New events are not delivered to this webhook, not even after you turn it on again.</li>
        <li>
          Queued deliveries become dead letters at their next attempt. You can replay them while their events are
          stored.
        </li>
        <li>Turning the webhook on again resets its failure count.</li>
      </ul>
    </FormDialog>
  );
}

export function DeleteDialog({ webhook, onClose }: Props) {
  const client = useQueryClient();
  const invalidate = useInvalidate();
  const navigate = useNavigate();
  const toast = useToast();
  const remove = useMutation({
    mutationFn: () => api.DELETE("/webhooks/{id}", { params: { path: { id: webhook.id }, header: ifMatch(webhook) } }),
    onSuccess: async () => {
      toast("Webhook deleted");
      // The list requests the statistics of each webhook that it shows, which would fail for this one.
      client.setQueryData(
        queries.webhooks.all.queryKey,
        (list) => list && { ...list, data: list.data.filter((one) => one.id !== webhook.id) },
      );
      await navigate({ to: "/webhooks" });
      client.removeQueries({ queryKey: queries.webhooks.one(webhook.id).queryKey });
      await invalidate("webhooks");
    },
  });
  return (
    <FormDialog
      danger
      onClose={onClose}
      title="Delete this webhook?"
      description={<span className="break-all">{webhook.url}</span>}
      mutation={remove}
      onSubmit={() => remove.mutate()}
      submitLabel="Delete"
      cancelLabel="Keep"
    >
      <ul className="grid list-disc gap-1.5 pl-5 text-sm">
        <li>No further attempts are made.</li>
        <li>Queued deliveries, retries and dead letters are cancelled and cannot be replayed.</li>
        <li>The attempts can no longer be viewed.</li>
        <li>You cannot undo this. To pause the webhook, turn it off instead.</li>
      </ul>
    </FormDialog>
  );
}
