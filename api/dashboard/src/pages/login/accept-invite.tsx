import { ComandaError } from "@comanda/client";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { api, data, fieldErrors } from "@/api/client";
import * as limits from "@/api/limits";
import { shareAccessToken } from "@/api/token";
import { OtpField, otpOf } from "@/components/otp-field";
import { Button } from "@/ui/button";
import { Form, TextField } from "@/ui/field";
import { Failure } from "@/ui/page";

import { Gate } from "./gate";

const invalidInvitation =
  "This invitation has been used, has expired or was replaced by a newer one. Ask for a new invitation.";

const wrongPassword =
  "An account with this email exists. Enter its password, or reset it on the login page with “Forgot password?”.";

/** The page behind an invitation link. The token is in the URL fragment, which is never sent to a server or logged. */
export function AcceptInvitePage() {
  const [token] = useState(() => location.hash.slice(1));
  const navigate = useNavigate();
  const accept = useMutation({
    mutationFn: async (form: FormData) => {
      const name = String(form.get("name")).trim();
      const login = await data(
        api.POST("/auth/accept-invite", {
          body: { token, password: String(form.get("password")), ...(name && { name }), otp: otpOf(form) },
        }),
      );
      shareAccessToken(login.accessToken);
      history.replaceState(null, "", location.pathname);
      await navigate({ to: "/" });
    },
  });
  const code = accept.error instanceof ComandaError ? accept.error.code : undefined;
  // The form then also asks for the code of the existing user's second factor.
  const [otp, setOtp] = useState(false);
  if (code === "OTP_REQUIRED" && !otp) setOtp(true);
  let error = accept.error;
  if (code === "TOKEN_INVALID") error = new ComandaError({ status: 401, code, message: invalidInvitation });
  if (code === "INVALID_CREDENTIALS" && !otp) error = new ComandaError({ status: 401, code, message: wrongPassword });
  if (!token) {
    return (
      <Gate title="Accept invitation">
        <p className="text-sm">
          This invitation link is incomplete. Open it again from your invitation email, or ask for a new invitation.
        </p>
      </Gate>
    );
  }
  return (
    <Gate title="Accept invitation">
      <Form onSubmit={accept.mutate}>
        <TextField
          label="Your name"
          name="name"
          autoComplete="name"
          {...limits.AcceptInviteRequest.name}
          hint="Leave it empty to use the name in the invitation."
        />
        <TextField
          label="Password"
          name="password"
          type="password"
          autoComplete="new-password"
          {...limits.AcceptInviteRequest.password}
          minLength={8}
          hint="At least 8 characters. If you already have an account, enter its password."
          error={fieldErrors(accept.error)("password")}
        />
        {otp && <OtpField error={code === "OTP_REQUIRED" ? "Enter the code of your second factor." : undefined} />}
        {code !== "OTP_REQUIRED" && <Failure error={error} />}
        <Button type="submit" busy={accept.isPending}>
          Accept invitation
        </Button>
      </Form>
    </Gate>
  );
}
