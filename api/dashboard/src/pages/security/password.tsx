import { ComandaError } from "@comanda/client";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { api, data, fieldErrors } from "@/api/client";
import * as limits from "@/api/limits";
import { useInvalidate } from "@/api/queries";
import { useAccount } from "@/session/account";
import { Button } from "@/ui/button";
import { Checkbox, Form, TextField } from "@/ui/field";
import { Card, Failure } from "@/ui/page";
import { useToast } from "@/ui/toast";

/** Changes the user's password. */
export function PasswordCard() {
  const [changes, setChanges] = useState(0);
  return (
    <Card title="Password">
      <PasswordForm key={changes} onChanged={() => setChanges(changes + 1)} />
    </Card>
  );
}

function PasswordForm({ onChanged }: { onChanged: () => void }) {
  const { user } = useAccount();
  const invalidate = useInvalidate();
  const toast = useToast();
  const [shown, setShown] = useState(false);
  const change = useMutation({
    mutationFn: (form: FormData) =>
      data(
        api.POST("/auth/password", {
          body: {
            currentPassword: String(form.get("currentPassword")),
            newPassword: String(form.get("newPassword")),
          },
        }),
      ),
    onSuccess: () => {
      toast("Password changed. Your other sessions have ended.");
      onChanged(); // empties the form
    },
    onSettled: () => invalidate("sessions"),
  });
  const wrong = change.error instanceof ComandaError && change.error.code === "INVALID_CREDENTIALS";
  const refused = fieldErrors(change.error)("newPassword");
  return (
    <Form onSubmit={change.mutate} className="max-w-md">
      {/* Tells password managers which login changes. */}
      <input type="text" autoComplete="username" value={user.email} readOnly hidden />
      <TextField
        label="Current password"
        name="currentPassword"
        type={shown ? "text" : "password"}
        autoComplete="current-password"
        {...limits.ChangePasswordRequest.currentPassword}
        error={wrong ? "This is not your current password." : undefined}
      />
      <TextField
        label="New password"
        name="newPassword"
        type={shown ? "text" : "password"}
        autoComplete="new-password"
        {...limits.ChangePasswordRequest.newPassword}
        hint="At least 8 characters. Common passwords and names are refused; a long phrase is best."
        error={refused}
      />
      <Checkbox label="Show passwords" checked={shown} onChange={(event) => setShown(event.target.checked)} />
      {!wrong && !refused && <Failure error={change.error} />}
      <div className="flex flex-wrap items-center gap-3">
        <Button type="submit" busy={change.isPending}>
          Change password
        </Button>
        <p className="text-xs text-muted-foreground">All your other sessions end.</p>
      </div>
    </Form>
  );
}
