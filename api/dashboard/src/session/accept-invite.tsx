import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { ApiError, api, data, faultsIn } from "@/api/client";
import { shareAccessToken } from "@/api/token";
import { Button } from "@/ui/button";
import { Form, TextField } from "@/ui/field";
import { Failure } from "@/ui/page";

import { Gate } from "./gate";

/** Where an invitation's link leads. The token is behind the #, so no server logs it. */
export function AcceptInvitePage() {
  const [token] = useState(() => location.hash.slice(1));
  const navigate = useNavigate();
  const accept = useMutation({
    mutationFn: async (form: FormData) => {
      const name = String(form.get("name")).trim();
      const login = await data(api.POST("/auth/accept-invite", { body: { token, password: String(form.get("password")), ...(name && { name }) } }));
      shareAccessToken(login.accessToken);
      history.replaceState(null, "", location.pathname);
      await navigate({ to: "/" });
    },
  });
  const gone = accept.error instanceof ApiError && accept.error.code === "TOKEN_INVALID";
  if (!token) {
    return (
      <Gate title="Accept an invitation">
        <p className="text-sm">The link is not complete. Open it again from the message that you got, or ask whoever invited you for another.</p>
      </Gate>
    );
  }
  return (
    <Gate title="Accept an invitation">
      <Form onSubmit={accept.mutate}>
        <TextField label="Your name" name="name" autoComplete="name" maxLength={200} hint="As in the invitation, if you leave it empty." />
        <TextField
          label="Password"
          name="password"
          type="password"
          autoComplete="new-password"
          required
          minLength={8}
          hint="At least 8 characters. If you have a login here already, its password."
          error={faultsIn(accept.error)("password")}
        />
        <Failure
          error={gone ? new ApiError(401, "TOKEN_INVALID", "This invitation was used already, has expired or was replaced by a newer one. Ask for another.") : accept.error}
        />
        <Button type="submit" busy={accept.isPending}>
          Accept and log in
        </Button>
      </Form>
    </Gate>
  );
}
