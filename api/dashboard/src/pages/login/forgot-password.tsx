import { useMutation } from "@tanstack/react-query";

import { api } from "@/api/client";
import { Button } from "@/ui/button";
import { Form, TextField } from "@/ui/field";
import { Failure } from "@/ui/page";

import { Gate } from "./gate";

/** Requests a link that resets a password. */
export function ForgotPassword({ onClose }: { onClose: () => void }) {
  const request = useMutation({
    mutationFn: (email: string) => api.POST("/auth/password-reset", { body: { email } }),
  });
  const back = (
    <Button variant="outline" onClick={onClose}>
      Go back to the login
    </Button>
  );
  if (request.isSuccess) {
    return (
      <Gate title="Check your email">
        <div role="status" className="grid gap-4 text-sm">
          <p>
            If {request.variables} belongs to a user, a link to set a new password is on its way. It is valid for one
            hour.
          </p>
          <p className="text-muted-foreground">No email after a few minutes? Check the spam folder, or try again.</p>
          <p className="text-muted-foreground">
            A Comanda without a mail server sends no emails. Ask its operator for a link: the command{" "}
            <code className="text-xs">comanda admin reset-password --email {request.variables}</code> prints one.
          </p>
          {back}
        </div>
      </Gate>
    );
  }
  return (
    <Gate title="Reset password">
      <Form onSubmit={(form) => request.mutate(String(form.get("email")).trim())}>
        <TextField
          label="Email"
          name="email"
          type="email"
          autoComplete="username"
          required
          autoFocus
          hint="You get a link to set a new password."
        />
        <Failure error={request.error} />
        <Button type="submit" busy={request.isPending}>
          Send link
        </Button>
        {back}
      </Form>
    </Gate>
  );
}
