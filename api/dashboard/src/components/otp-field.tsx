import { useState } from "react";

import { Button } from "@/ui/button";
import { TextField } from "@/ui/field";

/** The form member `otp`: a code of the authenticator app or, after a click, a recovery code. */
export function OtpField({ error }: { error?: string }) {
  const [recovery, setRecovery] = useState(false);
  return (
    <div className="grid justify-items-start gap-2">
      {recovery ? (
        <TextField
          key="recovery"
          className="w-full"
          label="Recovery code"
          name="otp"
          required
          autoFocus
          maxLength={100}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          hint="Each recovery code works once."
          error={error}
        />
      ) : (
        <TextField
          key="code"
          className="w-full"
          label="Code"
          name="otp"
          required
          autoFocus
          maxLength={10}
          inputMode="numeric"
          autoComplete="one-time-code"
          hint="The 6-digit code that your authenticator app shows."
          error={error}
        />
      )}
      <Button variant="link" size="small" className="px-0" onClick={() => setRecovery(!recovery)}>
        {recovery ? "Use a code of the app" : "Use a recovery code"}
      </Button>
    </div>
  );
}

/** Returns the code in a form, without the spaces that apps show, or undefined. */
export const otpOf = (form: FormData) => String(form.get("otp") ?? "").replace(/\s/g, "") || undefined;
