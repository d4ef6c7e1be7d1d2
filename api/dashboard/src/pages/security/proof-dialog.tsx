import { ComandaError } from "@comanda/client";
import { useMutation } from "@tanstack/react-query";
import { useState, useSyncExternalStore } from "react";

import { api } from "@/api/client";
import { isProofAsked, onProofAsked, settleProof } from "@/api/proof";
import { OtpField, otpOf } from "@/components/otp-field";
import { useAccount } from "@/session/account";
import { FormDialog } from "@/ui/dialog";

import { PasswordField, passwordOf, withoutWrong } from "./password-field";

/** The dialog in which the user proves the identity again, while the API client asks for it. */
export function ProofDialog() {
  return useSyncExternalStore(onProofAsked, isProofAsked) ? <Question /> : null;
}

function Question() {
  const { otpEnabled } = useAccount().user;
  const prove = useMutation({
    gcTime: 0,
    mutationFn: (body: { password: string; otp?: string }) => api.POST("/auth/reauthenticate", { body }),
    onSuccess: () => settleProof(true),
  });
  const code = prove.error instanceof ComandaError ? prove.error.code : undefined;
  const [otp, setOtp] = useState(otpEnabled);
  if (code === "OTP_REQUIRED" && !otp) setOtp(true); // switched on in another tab
  const wrong = code === "INVALID_CREDENTIALS" && otp;
  return (
    <FormDialog
      explicit
      onClose={() => settleProof(false)}
      title="Confirm that it is you"
      description="You entered your password more than an hour ago. Enter it again to continue."
      mutation={code === "OTP_REQUIRED" ? { ...prove, error: null } : withoutWrong(prove)}
      onSubmit={(form) => prove.mutate({ ...passwordOf(form), otp: otpOf(form) })}
      submitLabel="Continue"
    >
      <PasswordField error={wrong ? null : prove.error} />
      {otp && (
        <OtpField
          error={
            wrong
              ? "The password or the code is not correct, or the code was already used."
              : code === "OTP_REQUIRED"
                ? "Enter the code of your second factor."
                : undefined
          }
        />
      )}
    </FormDialog>
  );
}
