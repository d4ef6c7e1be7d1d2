import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { api, data, faultsIn } from "@/api/client";
import type { components } from "@/api/schema";
import { type Role, useSession } from "@/session/session";
import { FormDialog, Shown } from "@/ui/dialog";
import { Checkbox, SelectField, TextField } from "@/ui/field";
import { Time } from "@/ui/format";

import { roles } from "./roles";

/** Invites somebody to stores of the website that the user owns, and shows the link. */
export function InviteDialog({ onClose }: { onClose: () => void }) {
  const { stores, storeId } = useSession();
  const website = stores.find((store) => store.storeId === storeId)?.websiteId;
  const owned = stores.filter((store) => store.websiteId === website && store.role === "OWNER");
  const [role, setRole] = useState<Role>("STAFF");
  const [storeIds, setStoreIds] = useState([storeId]);
  const invite = useMutation({
    mutationFn: (body: components["schemas"]["InviteRequest"]) => data(api.POST("/users", { body })),
  });
  if (invite.data) {
    const { email, link, mailed, expiresAt } = invite.data;
    return (
      <Shown
        onClose={onClose}
        title="The invitation is ready"
        description={mailed ? `The link is on its way to ${email}. Should it get lost, send it once more:` : `Send this link to ${email}: nobody else does.`}
        secret={link}
        copy="Copy the link"
        testId="invitation"
      >
        <p className="text-sm text-muted-foreground">
          It works once, is shown this once, and can be accepted until <Time at={expiresAt} />. Another invitation of the same address takes its place.
        </p>
      </Shown>
    );
  }
  const wrong = faultsIn(invite.error);
  return (
    <FormDialog
      onClose={onClose}
      title="Invite somebody"
      description="They get a link with which they choose a password, or use the one that they have here already."
      doing={invite}
      onSubmit={(form) => invite.mutate({ email: String(form.get("email")).trim(), name: String(form.get("name")).trim(), role, storeIds })}
      deed="Invite"
      disabled={storeIds.length === 0}
    >
      <TextField label="E-mail address" name="email" type="email" required maxLength={320} autoComplete="off" error={wrong("email")} />
      <TextField label="Name" name="name" required maxLength={200} autoComplete="off" error={wrong("name")} />
      <SelectField
        label="Role"
        name="role"
        hint={`${roles[role].name} ${roles[role].may}.`}
        value={role}
        onChange={(event) => setRole(event.target.value as Role)}
        error={wrong("role")}
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
              onChange={(event) => setStoreIds(event.target.checked ? [...storeIds, store.storeId] : storeIds.filter((id) => id !== store.storeId))}
            />
          ))}
          {storeIds.length === 0 && <p className="text-xs text-danger">Choose one at least.</p>}
        </fieldset>
      )}
    </FormDialog>
  );
}
