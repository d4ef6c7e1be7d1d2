import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, data, faultsIn, idempotencyKey } from "@/api/client";
import type { components } from "@/api/schema";
import { useSession } from "@/session/session";
import { FormDialog, Shown } from "@/ui/dialog";
import { Checkbox, SelectField, TextField } from "@/ui/field";

import { keysKey } from "./page";
import { type APIKey, type Scope, isIncluded, scopes } from "./scopes";

const modes: Record<APIKey["mode"], { name: string; about: (store: string) => string }> = {
  live: { name: "Live", about: (store) => `Works with ${store} itself: its orders reach the kitchen, the reports and the webhooks.` },
  test: {
    name: "Test",
    about: (store) =>
      `Works with a sandbox of ${store} and sees nothing else. The first test key makes it: a store beside this one, without products or orders, with the same team. Switch to it in the menu.`,
  },
};

export function CreateDialog({ onClose }: { onClose: () => void }) {
  const { storeName } = useSession();
  const queries = useQueryClient();
  const [once] = useState(idempotencyKey);
  const [mode, setMode] = useState<APIKey["mode"]>("live");
  const [chosen, setChosen] = useState<Scope[]>([]);
  const needed = chosen.filter((scope) => !isIncluded(scope, chosen));
  const create = useMutation({
    mutationFn: (body: components["schemas"]["CreateAPIKeyRequest"]) => data(api.POST("/api-keys", { body, params: { header: { "Idempotency-Key": once } } })),
    // The first test key makes a store.
    onSuccess: () => Promise.all([keysKey, ["stores"]].map((queryKey) => queries.invalidateQueries({ queryKey }))),
  });
  if (create.data) {
    const { key } = create.data;
    return (
      <Shown
        onClose={onClose}
        title="Your new API key"
        description={
          key
            ? "It is shown this once. Copy it now to where your server keeps its secrets."
            : "This request was answered before, and a key is shown once only. Revoke this one and create another."
        }
        secret={key}
        copy="Copy the key"
        testId="api-key"
      >
        {key && (
          <p className="text-sm text-muted-foreground">
            Your server sends it with each request: <code className="text-xs break-all">Authorization: Bearer {create.data.prefix}…</code> Never put it into a page or an app, where
            others can read it.
          </p>
        )}
      </Shown>
    );
  }
  const wrong = faultsIn(create.error);
  return (
    <FormDialog
      onClose={onClose}
      title="Create an API key"
      doing={create}
      onSubmit={(form) => create.mutate({ name: String(form.get("name")).trim(), mode, scopes: needed })}
      deed="Create"
      disabled={chosen.length === 0}
    >
      <TextField
        label="Name"
        name="name"
        required
        maxLength={100}
        autoComplete="off"
        placeholder="Till at the counter"
        hint="So that you know later whose it is."
        error={wrong("name")}
      />
      <SelectField
        label="Mode"
        name="mode"
        hint={modes[mode].about(storeName)}
        value={mode}
        onChange={(event) => setMode(event.target.value as APIKey["mode"])}
        error={wrong("mode")}
      >
        {Object.entries(modes).map(([one, { name }]) => (
          <option key={one} value={one}>
            {name}
          </option>
        ))}
      </SelectField>
      <fieldset className="grid gap-2.5">
        <legend className="mb-1 text-sm font-medium">Scopes</legend>
        <p className="text-xs text-muted-foreground">Choose no more than the server needs. No key reaches users, keys, settings or the plan.</p>
        {(Object.entries(scopes) as [Scope, string][]).map(([scope, about]) => {
          const included = isIncluded(scope, chosen);
          return (
            <Checkbox
              key={scope}
              name="scopes"
              value={scope}
              checked={included || chosen.includes(scope)}
              disabled={included}
              onChange={(event) => setChosen(event.target.checked ? [...chosen, scope] : chosen.filter((one) => one !== scope))}
              label={
                <>
                  <code className="text-xs">{scope}</code>
                  <span className="block text-xs text-muted-foreground">{about}</span>
                </>
              }
            />
          );
        })}
      </fieldset>
    </FormDialog>
  );
}
