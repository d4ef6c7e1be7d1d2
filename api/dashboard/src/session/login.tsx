import { type FormEvent, useState } from "react";

import { ApiError, api, data } from "@/api/client";
import { shareAccessToken } from "@/api/token";
import { Button } from "@/ui/button";
import { TextField } from "@/ui/field";
import { Failure } from "@/ui/page";

import { Gate } from "./gate";

/** The page of whoever is not logged in. */
export function LoginPage() {
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setBusy(true);
    setError(null);
    try {
      const login = await data(api.POST("/auth/login", { body: { email: String(form.get("email")), password: String(form.get("password")) } }));
      if (login.user.platformRole) {
        await api.POST("/auth/logout", { headers: { Authorization: `Bearer ${login.accessToken}` } });
        throw new ApiError(403, "PLATFORM", "This is the login of a platform administrator, who works with the API, not with a restaurant's dashboard.");
      }
      shareAccessToken(login.accessToken);
    } catch (caught) {
      setError(caught);
      setBusy(false);
    }
  }
  return (
    <Gate title="Log in">
      <form onSubmit={(event) => void submit(event)} className="grid gap-4">
        <TextField label="E-mail address" name="email" type="email" autoComplete="username" required autoFocus />
        <TextField label="Password" name="password" type="password" autoComplete="current-password" required />
        <Failure error={error} />
        <Button type="submit" busy={busy}>
          Log in
        </Button>
      </form>
    </Gate>
  );
}
