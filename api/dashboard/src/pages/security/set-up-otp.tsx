import type { components } from "@comanda/client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { QRCodeSVG } from "qrcode.react";

import { api, data, fieldErrors } from "@/api/client";
import { FormDialog, Secret } from "@/ui/dialog";
import { TextField } from "@/ui/field";

import { PasswordField, passwordOf, withoutWrong } from "./password-field";

type Props = { onClose: () => void; onCodes: (codes: string[]) => void };

/** Sets up one-time passwords: asks for the password, shows the secret, and asks for a code. */
export function SetUpDialog({ onClose, onCodes }: Props) {
  const begin = useMutation({
    gcTime: 0, // the secret is not kept
    mutationFn: (body: { password: string }) => data(api.POST("/auth/otp", { body })),
  });
  if (begin.data) return <ConfirmDialog pending={begin.data} onClose={onClose} onCodes={onCodes} />;
  return (
    <FormDialog
      onClose={onClose}
      title="Set up second factor"
      description="You need an authenticator app on your phone that shows one-time codes (TOTP)."
      mutation={withoutWrong(begin)}
      onSubmit={(form) => begin.mutate(passwordOf(form))}
      submitLabel="Continue"
    >
      <PasswordField error={begin.error} />
    </FormDialog>
  );
}

function ConfirmDialog({ pending, onClose, onCodes }: Props & { pending: components["schemas"]["SetUpOTP"] }) {
  const client = useQueryClient();
  const confirm = useMutation({
    gcTime: 0,
    mutationFn: (code: string) => data(api.POST("/auth/otp/confirm", { body: { code } })),
    onSuccess: ({ recoveryCodes }) => {
      onCodes(recoveryCodes);
      void client.invalidateQueries();
    },
  });
  const refused = fieldErrors(confirm.error)("code");
  return (
    <FormDialog
      explicit
      onClose={onClose}
      title="Set up second factor"
      description="Scan this code with your authenticator app, or enter the key in the app."
      mutation={{ isPending: confirm.isPending, error: refused ? null : confirm.error }}
      onSubmit={(form) => confirm.mutate(String(form.get("code")).replace(/\s/g, ""))}
      submitLabel="Switch on"
    >
      <div className="justify-self-center rounded-md bg-white p-3">
        <QRCodeSVG
          value={pending.otpauthUrl}
          size={192}
          marginSize={2}
          title="QR code of the key"
          className="size-48"
          data-testid="otp-qr"
        />
      </div>
      <Secret text={pending.secret} copyLabel="Copy key" testId="otp-secret" />
      <TextField
        label="Code"
        name="code"
        required
        autoFocus
        maxLength={10}
        inputMode="numeric"
        autoComplete="one-time-code"
        hint="The 6-digit code that the app shows. The key is valid for ten minutes."
        error={refused && "This code is not correct. Enter the code that the app shows now."}
      />
    </FormDialog>
  );
}
