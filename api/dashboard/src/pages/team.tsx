import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";

import { ApiError, api, data } from "@/api/client";
import type { components } from "@/api/schema";
import { type Role, useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/copy";
import { Dialog, DialogActions } from "@/ui/dialog";
import { Checkbox, Select, SelectField, TextField } from "@/ui/field";
import { Time } from "@/ui/format";
import { More, useList } from "@/ui/more";
import { Badge, Failure, Loading, PageHeader, Table } from "@/ui/page";
import { useToast } from "@/ui/toast";

type Member = components["schemas"]["Member"];

const roles: Record<Role, string> = {
  STAFF: "Staff: orders, reservations; sees products",
  MANAGER: "Manager: also cancels, refunds, changes products, sees customers",
  ADMIN: "Admin: also analytics, webhooks, settings",
  OWNER: "Owner: everything, also users, API keys and the plan",
};

export function TeamPage() {
  const { user } = useSession();
  const queries = useQueryClient();
  const members = useList<Member>(["users"], (cursor) => api.GET("/users", { params: { query: { cursor, limit: 50 } } }));
  const [inviting, setInviting] = useState(false);
  const [removing, setRemoving] = useState<Member | null>(null);
  const reload = () => void queries.invalidateQueries({ queryKey: ["users"] });
  return (
    <>
      <PageHeader title="Team" about="Who works in this store, and what each may do." actions={<Button onClick={() => setInviting(true)}>Invite somebody</Button>} />
      <Failure error={members.error} retry={() => void members.refetch()} />
      {members.isPending && <Loading />}
      {members.rows.length > 0 && (
        <Table label="Users of this store">
          <thead>
            <tr>
              <th>Name</th>
              <th>Role</th>
              <th>Joined</th>
              <th>
                <span className="sr-only">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {members.rows.map((member) => (
              <tr key={member.id}>
                <td>
                  <span className="font-medium">{member.name}</span> {member.id === user.id && <Badge tone="accent">you</Badge>}
                  <span className="block text-xs text-muted-foreground">{member.email}</span>
                </td>
                <td>
                  <RoleSelect member={member} onChanged={reload} />
                </td>
                <td>
                  <Time at={member.joinedAt} />
                </td>
                <td className="text-right">
                  <Button variant="danger" size="small" onClick={() => setRemoving(member)}>
                    Remove
                  </Button>
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      <More list={members} />
      {inviting && <InviteDialog onClose={() => setInviting(false)} />}
      {removing && <RemoveDialog member={removing} onClose={() => setRemoving(null)} onRemoved={reload} />}
    </>
  );
}

function RoleSelect({ member, onChanged }: { member: Member; onChanged: () => void }) {
  const toast = useToast();
  const change = useMutation({
    mutationFn: (role: Role) => data(api.PATCH("/users/{id}", { params: { path: { id: member.id } }, body: { role } })),
    onSuccess: (changed) => toast(`${member.name} is ${changed.role} now`),
    onError: (error) => toast(error.message, { bad: true }),
    onSettled: onChanged,
  });
  return (
    <Select
      aria-label={`Role of ${member.name}`}
      className="w-32"
      value={change.isPending ? change.variables : member.role}
      disabled={change.isPending}
      onChange={(event) => change.mutate(event.target.value as Role)}
    >
      {Object.keys(roles).map((role) => (
        <option key={role}>{role}</option>
      ))}
    </Select>
  );
}

function InviteDialog({ onClose }: { onClose: () => void }) {
  const { stores, storeId } = useSession();
  const website = stores.find((store) => store.storeId === storeId)?.websiteId;
  const owned = stores.filter((store) => store.websiteId === website && store.role === "OWNER");
  const invite = useMutation({
    mutationFn: (body: components["schemas"]["InviteRequest"]) => data(api.POST("/users", { body })),
  });
  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    invite.mutate({
      email: String(form.get("email")),
      name: String(form.get("name")),
      role: form.get("role") as Role,
      storeIds: form.getAll("storeIds").map(String),
    });
  }
  if (invite.data) {
    return (
      <Dialog open onClose={onClose} title="The invitation is ready" description={`Send this link to ${invite.data.email}. It works once and is shown this once.`}>
        <code className="rounded-md border bg-muted p-3 text-sm break-all">{invite.data.link}</code>
        <p className="text-sm text-muted-foreground">
          It can be accepted until <Time at={invite.data.expiresAt} />.
        </p>
        <DialogActions>
          {invite.data.link && <CopyButton text={invite.data.link} label="Copy the link" />}
          <Button onClick={onClose}>Done</Button>
        </DialogActions>
      </Dialog>
    );
  }
  const refused = invite.error instanceof ApiError ? invite.error : undefined;
  return (
    <Dialog open onClose={onClose} title="Invite somebody">
      <form onSubmit={submit} className="grid gap-4">
        <TextField label="E-mail address" name="email" type="email" required error={refused?.at("email")} />
        <TextField label="Name" name="name" required maxLength={200} error={refused?.at("name")} />
        <SelectField label="Role" name="role" defaultValue="STAFF" error={refused?.at("role")}>
          {Object.entries(roles).map(([role, about]) => (
            <option key={role} value={role}>
              {about}
            </option>
          ))}
        </SelectField>
        <fieldset className="grid gap-2">
          <legend className="mb-1 text-sm font-medium">Stores</legend>
          {owned.map((store) => (
            <Checkbox key={store.storeId} name="storeIds" value={store.storeId} label={store.storeName} defaultChecked={store.storeId === storeId} />
          ))}
        </fieldset>
        <Failure error={invite.error} />
        <DialogActions>
          <Button variant="outline" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" busy={invite.isPending}>
            Invite
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function RemoveDialog({ member, onClose, onRemoved }: { member: Member; onClose: () => void; onRemoved: () => void }) {
  const toast = useToast();
  const remove = useMutation({
    mutationFn: () => api.DELETE("/users/{id}", { params: { path: { id: member.id } } }),
    onSuccess: () => {
      toast(`${member.name} has left the store`);
      onRemoved();
      onClose();
    },
  });
  return (
    <Dialog open onClose={onClose} title={`Remove ${member.name}?`} description="They lose this store with their next click. Other stores of theirs stay.">
      <Failure error={remove.error} />
      <DialogActions>
        <Button variant="outline" onClick={onClose}>
          Keep
        </Button>
        <Button variant="danger" busy={remove.isPending} onClick={() => remove.mutate()}>
          Remove
        </Button>
      </DialogActions>
    </Dialog>
  );
}
