import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";

import { ApiError, api, data } from "@/api/client";
import { shareAccessToken } from "@/api/token";
import { Button } from "@/ui/button";
import { TextField } from "@/ui/field";
import { Failure } from "@/ui/page";

import { Gate } from "./gate";

/** Where an invitation's link leads. The token is behind the #, so no server logs it. */
export function AcceptInvitePage() {
  const [token] = useState(() => location.hash.slice(1));
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const navigate = useNavigate();
  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setBusy(true);
    setError(null);
    try {
      const name = String(form.get("name")).trim();
      const login = await data(
        api.POST("/auth/accept-invite", { body: { token, password: String(form.get("password")), ...(name && { name }) } }),
      );
      shareAccessToken(login.accessToken);
      history.replaceState(null, "", location.pathname);
      await navigate({ to: "/" });
    } catch (caught) {
      setError(
        caught instanceof ApiError && caught.code === "TOKEN_INVALID"
          ? new ApiError(401, "TOKEN_INVALID", "This invitation was used already, has expired or was replaced by a newer one. Ask for another.", caught.requestId)
          : caught,
      );
      setBusy(false);
    }
  }
  if (!token) {
    return (
      <Gate title="Accept an invitation">
        <p className="text-sm">The link is not complete. Open it again from the message that you got, or ask whoever invited you for another.</p>
      </Gate>
    );
  }
  return (
    <Gate title="Accept an invitation">
      <form onSubmit={(event) => void submit(event)} className="grid gap-4">
        <TextField label="Your name" name="name" autoComplete="name" maxLength={200} hint="As in the invitation, if you leave it empty." />
        <TextField
          label="Password"
          name="password"
          type="password"
          autoComplete="new-password"
          required
          minLength={8}
          hint="At least 8 characters. If you have a login here already, its password."
          error={error instanceof ApiError ? error.at("password") : undefined}
        />
        <Failure error={error} />
        <Button type="submit" busy={busy}>
          Accept and log in
        </Button>
      </form>
    </Gate>
  );
}
