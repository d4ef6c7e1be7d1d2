import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";

import { ApiError, api, data, idempotencyKey } from "@/api/client";
import type { components } from "@/api/schema";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/copy";
import { Dialog, DialogActions } from "@/ui/dialog";
import { Checkbox, SelectField, TextField } from "@/ui/field";
import { Time } from "@/ui/format";
import { Badge, Empty, Failure, Loading, PageHeader, Table } from "@/ui/page";
import { useToast } from "@/ui/toast";

type APIKey = components["schemas"]["APIKey"];
type Scope = APIKey["scopes"][number];

const scopes: Record<Scope, string> = {
  "read:orders": "List and view orders",
  "write:orders": "Place orders and change their status, cancel and refund; includes reading",
  "read:products": "List and view products",
  "write:products": "Create, change and delete products; includes reading",
  "read:customers": "List and view customers",
  "read:analytics": "View revenue and order analytics",
  "read:reservations": "List and view reservations",
  "write:reservations": "Take and change reservations; includes reading",
  "webhooks:manage": "Create, change, test, replay and delete webhooks",
};

export function APIKeysPage() {
  const queries = useQueryClient();
  const keys = useQuery({ queryKey: ["api-keys"], queryFn: () => data(api.GET("/api-keys")) });
  const [creating, setCreating] = useState(false);
  const [revoking, setRevoking] = useState<APIKey | null>(null);
  const reload = () => queries.invalidateQueries({ queryKey: ["api-keys"] });
  const create = <Button onClick={() => setCreating(true)}>Create an API key</Button>;
  return (
    <>
      <PageHeader title="API keys" about="With a key, a server of yours works with this store: no login, no expiry, only what its scopes allow." actions={create} />
      <Failure error={keys.error} retry={() => void keys.refetch()} />
      {keys.isPending && <Loading />}
      {keys.data?.length === 0 && (
        <Empty title="No API keys yet">
          <p>Create one with mode “test” to try things out: it works in a sandbox of this store, which no kitchen and no report ever sees.</p>
          {create}
        </Empty>
      )}
      {keys.data && keys.data.length > 0 && (
        <Table label="API keys">
          <thead>
            <tr>
              <th>Name</th>
              <th>Key</th>
              <th>Scopes</th>
              <th>Created</th>
              <th>Last used</th>
              <th>
                <span className="sr-only">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {keys.data.map((key) => (
              <tr key={key.id}>
                <td className="font-medium">{key.name}</td>
                <td>
                  <code className="text-xs whitespace-nowrap">
                    {key.prefix}…{key.lastFour}
                  </code>{" "}
                  {key.mode === "test" && <Badge tone="accent">test</Badge>}
                </td>
                <td className="max-w-72 text-xs">{key.scopes.join(", ")}</td>
                <td>
                  <Time at={key.createdAt} />
                </td>
                <td>
                  <Time at={key.lastUsedAt} />
                </td>
                <td className="text-right">
                  {key.revokedAt ? (
                    <Badge>revoked</Badge>
                  ) : (
                    <Button variant="danger" size="small" onClick={() => setRevoking(key)}>
                      Revoke
                    </Button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      {creating && <CreateDialog onClose={() => setCreating(false)} onCreated={() => void reload()} />}
      {revoking && <RevokeDialog apiKey={revoking} onClose={() => setRevoking(null)} onRevoked={() => void reload()} />}
    </>
  );
}

function CreateDialog({ onClose, onCreated }: { onClose: () => void; onCreated: () => void }) {
  const [once] = useState(idempotencyKey);
  const create = useMutation({
    mutationFn: (body: components["schemas"]["CreateAPIKeyRequest"]) =>
      data(api.POST("/api-keys", { body, params: { header: { "Idempotency-Key": once } } })),
    onSuccess: onCreated,
  });
  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    create.mutate({ name: String(form.get("name")), mode: form.get("mode") as "live" | "test", scopes: form.getAll("scopes") as Scope[] });
  }
  if (create.data) {
    return (
      <Dialog open onClose={onClose} title="Your new API key" description="It is shown this once. Copy it now to where your server keeps its secrets.">
        <code className="rounded-md border bg-muted p-3 text-sm break-all" data-testid="api-key">
          {create.data.key ?? "This request was answered before; the key is not shown again. Revoke it and create another."}
        </code>
        <DialogActions>
          {create.data.key && <CopyButton text={create.data.key} label="Copy the key" />}
          <Button onClick={onClose}>Done</Button>
        </DialogActions>
      </Dialog>
    );
  }
  const refused = create.error instanceof ApiError ? create.error : undefined;
  return (
    <Dialog open onClose={onClose} title="Create an API key">
      <form onSubmit={submit} className="grid gap-4">
        <TextField label="Name" name="name" required maxLength={100} placeholder="Till at the counter" hint="So that you know later whose it is." error={refused?.at("name")} />
        <SelectField label="Mode" name="mode" defaultValue="live" hint="A test key sees the store's sandbox and nothing else." error={refused?.at("mode")}>
          <option value="live">Live</option>
          <option value="test">Test</option>
        </SelectField>
        <fieldset className="grid gap-2">
          <legend className="mb-1 text-sm font-medium">Scopes</legend>
          {Object.entries(scopes).map(([scope, about]) => (
            <Checkbox
              key={scope}
              name="scopes"
              value={scope}
              label={
                <>
                  <code className="text-xs">{scope}</code>
                  <span className="block text-xs text-muted-foreground">{about}</span>
                </>
              }
            />
          ))}
        </fieldset>
        <Failure error={create.error} />
        <DialogActions>
          <Button variant="outline" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" busy={create.isPending}>
            Create
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function RevokeDialog({ apiKey, onClose, onRevoked }: { apiKey: APIKey; onClose: () => void; onRevoked: () => void }) {
  const toast = useToast();
  const revoke = useMutation({
    mutationFn: () => data(api.POST("/api-keys/{id}/revoke", { params: { path: { id: apiKey.id } } })),
    onSuccess: () => {
      toast(`${apiKey.name} is revoked`);
      onRevoked();
      onClose();
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Revoke ${apiKey.name}?`}
      description="Whatever uses this key is refused from the next request on. It cannot be made good again."
    >
      <Failure error={revoke.error} />
      <DialogActions>
        <Button variant="outline" onClick={onClose}>
          Keep it
        </Button>
        <Button variant="danger" busy={revoke.isPending} onClick={() => revoke.mutate()}>
          Revoke
        </Button>
      </DialogActions>
    </Dialog>
  );
}
