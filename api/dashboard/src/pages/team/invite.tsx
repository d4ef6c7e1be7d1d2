import type { components } from "@comanda/client";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { api, data, fieldErrors } from "@/api/client";
import * as limits from "@/api/limits";
import { useInvalidate } from "@/api/queries";
import { InvitationDialog } from "@/components/invitation-dialog";
import { MemberFields } from "@/components/member-fields";
import { type Role, roles } from "@/domain/roles";
import { useSession } from "@/session/session";
import { FormDialog } from "@/ui/dialog";
import { Checkbox, SelectField } from "@/ui/field";

/** Invites a user to stores that the current user owns. */
export function InviteDialog({ onClose }: { onClose: () => void }) {
  const { store: active, stores, storeId } = useSession();
  // An invitation to a store includes its sandbox.
  const owned = stores.filter(
    (store) => store.websiteId === active?.websiteId && store.role === "OWNER" && !store.sandboxOf,
  );
  const [role, setRole] = useState<Role>("STAFF");
  const [storeIds, setStoreIds] = useState([active?.sandboxOf ?? storeId]);
  const invalidate = useInvalidate();
  const invite = useMutation({
    mutationFn: (body: components["schemas"]["InviteRequest"]) => data(api.POST("/users", { body })),
    onSuccess: () => invalidate("invitations"),
  });
  if (invite.data) return <InvitationDialog invitation={invite.data} onClose={onClose} />;
  const fieldError = fieldErrors(invite.error);
  return (
    <FormDialog
      onClose={onClose}
      title="Invite user"
      description="The user gets a link to set a password, or to log in with an existing one."
      mutation={invite}
      onSubmit={(form) =>
        invite.mutate({
          email: String(form.get("email")).trim(),
          name: String(form.get("name")).trim(),
          role,
          storeIds,
        })
      }
      submitLabel="Invite"
      disabled={storeIds.length === 0}
    >
      <MemberFields limits={limits.InviteRequest} fieldError={fieldError} />
      <SelectField
        label="Role"
        name="role"
        hint={`${roles[role].name} ${roles[role].may}.`}
        value={role}
        onChange={(event) => setRole(event.target.value as Role)}
        error={fieldError("role")}
      >
        {Object.entries(roles).map(([one, { name }]) => (
          <option key={one} value={one}>
            {name}
          </option>
        ))}
      </SelectField>
      {owned.length > 1 && (
        <fieldset className="grid gap-2">
          <legend className="mb-1 text-sm font-medium">Stores</legend>
          {owned.map((store) => (
            <Checkbox
              key={store.storeId}
              label={store.storeName}
              checked={storeIds.includes(store.storeId)}
              onChange={(event) =>
                setStoreIds(
                  event.target.checked ? [...storeIds, store.storeId] : storeIds.filter((id) => id !== store.storeId),
                )
              }
            />
          ))}
          {storeIds.length === 0 && <p className="text-xs text-danger">Choose at least one store.</p>}
        </fieldset>
      )}
    </FormDialog>
  );
}
