import type { components } from "@comanda/client";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { api, data, fieldErrors, newIdempotencyKey } from "@/api/client";
import * as limits from "@/api/limits";
import { useInvalidate } from "@/api/queries";
import { InvitationDialog } from "@/components/invitation-dialog";
import { MemberFields } from "@/components/member-fields";
import { FormDialog } from "@/ui/dialog";
import { SelectField } from "@/ui/field";

import type { WebsiteDetails } from "./types";

/** Invites an owner of one of the website's stores. */
export function InviteOwnerDialog({ website, onClose }: { website: WebsiteDetails; onClose: () => void }) {
  const invalidate = useInvalidate();
  const [idempotencyKey] = useState(newIdempotencyKey);
  const invite = useMutation({
    mutationFn: (body: components["schemas"]["InviteOwnerRequest"]) =>
      data(
        api.POST("/platform/websites/{id}/invite-owner", {
          params: { path: { id: website.id }, header: { "Idempotency-Key": idempotencyKey } },
          body,
        }),
      ),
    onSuccess: () => invalidate("websites"),
  });
  if (invite.data) return <InvitationDialog invitation={invite.data} onClose={onClose} />;
  const fieldError = fieldErrors(invite.error);
  function submit(form: FormData) {
    const text = (name: string) => String(form.get(name)).trim();
    invite.mutate({ name: text("name"), email: text("email"), storeId: text("storeId") });
  }
  return (
    <FormDialog
      onClose={onClose}
      title={`Invite an owner of ${website.name}`}
      description="The owner gets a link to set a password, or to log in with an existing one."
      mutation={invite}
      onSubmit={submit}
      submitLabel="Invite"
    >
      <MemberFields limits={limits.InviteOwnerRequest} fieldError={fieldError} />
      <SelectField
        label="Store"
        name="storeId"
        hint="The owner can invite further users to this store, and can add stores."
        error={fieldError("storeId")}
      >
        {website.stores
          .filter((store) => !store.sandboxOf)
          .map((store) => (
            <option key={store.storeId} value={store.storeId}>
              {store.storeName}
            </option>
          ))}
      </SelectField>
    </FormDialog>
  );
}
