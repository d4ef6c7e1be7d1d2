import type { components } from "@comanda/client";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { api, data, fieldErrors, newIdempotencyKey } from "@/api/client";
import * as limits from "@/api/limits";
import { useInvalidate } from "@/api/queries";
import { useSession } from "@/session/session";
import { FormDialog, SecretDialog } from "@/ui/dialog";
import { Checkbox, SelectField, TextField } from "@/ui/field";

import type { APIKey } from "./types";
import { type Scope, isIncluded, scopes } from "./scopes";

const modes: Record<APIKey["mode"], { name: string; about: (store: string) => string }> = {
  live: { name: "Live", about: (store) => `Accesses the live data of ${store}.` },
  test: {
    name: "Test",
    about: (store) =>
      `Accesses a sandbox of ${store} only. The first test key creates the sandbox: a store with the same team, ` +
      "but without products and orders. Switch to it in the menu.",
  },
};

export function CreateDialog({ onClose }: { onClose: () => void }) {
  const { storeName } = useSession();
  const invalidate = useInvalidate();
  const [idempotencyKey] = useState(newIdempotencyKey);
  const [mode, setMode] = useState<APIKey["mode"]>("live");
  const [chosen, setChosen] = useState<Scope[]>([]);
  const needed = chosen.filter((scope) => !isIncluded(scope, chosen));
  const create = useMutation({
    mutationFn: (body: components["schemas"]["CreateAPIKeyRequest"]) =>
      data(api.POST("/api-keys", { body, params: { header: { "Idempotency-Key": idempotencyKey } } })),
    onSuccess: () => invalidate("apiKeys"),
  });
  if (create.data) {
    const { key } = create.data;
    return (
      <SecretDialog
        onClose={onClose}
        title="Your new API key"
        description={
          key
            ? "The key is shown only once. Copy it now and store it with your server's secrets."
            : "This key was already shown once and cannot be shown again. Revoke it and create another."
        }
        secret={key}
        copyLabel="Copy key"
        testId="api-key"
      >
        {key && (
          <p className="text-sm text-muted-foreground">
            Send it with each request:{" "}
            <code className="text-xs break-all">Authorization: Bearer {create.data.prefix}…</code> Never include it in a
            web page or an app, where others can read it.
          </p>
        )}
      </SecretDialog>
    );
  }
  const fieldError = fieldErrors(create.error);
  return (
    <FormDialog
      onClose={onClose}
      title="Create API key"
      mutation={create}
      onSubmit={(form) => create.mutate({ name: String(form.get("name")).trim(), mode, scopes: needed })}
      submitLabel="Create"
      disabled={chosen.length === 0}
    >
      <TextField
        label="Name"
        name="name"
        {...limits.CreateAPIKeyRequest.name}
        autoComplete="off"
        placeholder="Counter till"
        hint="A name that identifies the server that uses the key."
        error={fieldError("name")}
      />
      <SelectField
        label="Mode"
        name="mode"
        hint={modes[mode].about(storeName)}
        value={mode}
        onChange={(event) => setMode(event.target.value as APIKey["mode"])}
        error={fieldError("mode")}
      >
        {Object.entries(modes).map(([one, { name }]) => (
          <option key={one} value={one}>
            {name}
          </option>
        ))}
      </SelectField>
      <fieldset className="grid gap-2.5">
        <legend className="mb-1 text-sm font-medium">Scopes</legend>
        <p className="text-xs text-muted-foreground">
          Grant only the scopes that the server needs. API keys cannot manage users, keys, settings or the plan.
        </p>
        {(Object.entries(scopes) as [Scope, string][]).map(([scope, about]) => {
          const included = isIncluded(scope, chosen);
          return (
            <Checkbox
              key={scope}
              name="scopes"
              value={scope}
              checked={included || chosen.includes(scope)}
              disabled={included}
              onChange={(event) =>
                setChosen(event.target.checked ? [...chosen, scope] : chosen.filter((one) => one !== scope))
              }
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
