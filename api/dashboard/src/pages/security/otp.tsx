import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { api, data } from "@/api/client";
import { useInvalidate } from "@/api/queries";
import { useAccount } from "@/session/account";
import { Button } from "@/ui/button";
import { FormDialog } from "@/ui/dialog";
import { Badge, Card } from "@/ui/page";
import { useToast } from "@/ui/toast";

import { PasswordField, passwordOf, withoutWrong } from "./password-field";
import { RecoveryCodesDialog } from "./recovery-codes";
import { SetUpDialog } from "./set-up-otp";

/** The user's second factor: one-time passwords of an authenticator app. */
export function OtpCard() {
  const { otpEnabled } = useAccount().user;
  const [action, setAction] = useState<"setUp" | "replace" | "switchOff" | null>(null);
  const [codes, setCodes] = useState<string[] | null>(null);
  const close = () => setAction(null);
  function show(codes: string[]) {
    close();
    setCodes(codes);
  }
  return (
    <Card
      title="Second factor"
      actions={<Badge tone={otpEnabled ? "good" : "neutral"}>{otpEnabled ? "on" : "off"}</Badge>}
    >
      <p className="mb-4 max-w-prose text-sm text-muted-foreground">
        {otpEnabled
          ? "A login requires your password and a code of your authenticator app, or a recovery code."
          : "With a second factor, a stolen password is not enough to log in: a login also requires a code of an " +
            "authenticator app on your phone."}
      </p>
      <div className="flex flex-wrap gap-2">
        {otpEnabled ? (
          <>
            <Button variant="outline" onClick={() => setAction("replace")}>
              Replace recovery codes
            </Button>
            <Button variant="danger" onClick={() => setAction("switchOff")}>
              Switch off
            </Button>
          </>
        ) : (
          <Button onClick={() => setAction("setUp")}>Set up second factor</Button>
        )}
      </div>
      {action === "setUp" && <SetUpDialog onClose={close} onCodes={show} />}
      {action === "replace" && <ReplaceDialog onClose={close} onCodes={show} />}
      {action === "switchOff" && <SwitchOffDialog onClose={close} />}
      {codes && <RecoveryCodesDialog codes={codes} onClose={() => setCodes(null)} />}
    </Card>
  );
}

type CodesProps = { onClose: () => void; onCodes: (codes: string[]) => void };

function ReplaceDialog({ onClose, onCodes }: CodesProps) {
  const replace = useMutation({
    gcTime: 0,
    mutationFn: (body: { password: string }) => data(api.POST("/auth/otp/recovery-codes", { body })),
    onSuccess: ({ recoveryCodes }) => onCodes(recoveryCodes),
  });
  return (
    <FormDialog
      onClose={onClose}
      title="Replace recovery codes"
      description="You get ten new recovery codes. The present ones no longer work."
      mutation={withoutWrong(replace)}
      onSubmit={(form) => replace.mutate(passwordOf(form))}
      submitLabel="Replace codes"
    >
      <PasswordField error={replace.error} />
    </FormDialog>
  );
}

function SwitchOffDialog({ onClose }: { onClose: () => void }) {
  const invalidate = useInvalidate();
  const toast = useToast();
  const switchOff = useMutation({
    gcTime: 0,
    mutationFn: (body: { password: string }) => api.DELETE("/auth/otp", { body }),
    onSuccess: () => {
      toast("Second factor switched off");
      onClose();
    },
    onSettled: () => invalidate("me"),
  });
  return (
    <FormDialog
      danger
      onClose={onClose}
      title="Switch off the second factor?"
      description="A login then requires your password only. Your recovery codes no longer work."
      mutation={withoutWrong(switchOff)}
      onSubmit={(form) => switchOff.mutate(passwordOf(form))}
      submitLabel="Switch off"
      cancelLabel="Keep on"
    >
      <PasswordField error={switchOff.error} />
    </FormDialog>
  );
}
