import { useMutation } from "@tanstack/react-query";

import { ApiError, api, data } from "@/api/client";
import { shareAccessToken } from "@/api/token";
import { Button } from "@/ui/button";
import { Form, TextField } from "@/ui/field";
import { Failure } from "@/ui/page";

import { Gate } from "./gate";

/** The page of whoever is not logged in. */
export function LoginPage() {
  const logIn = useMutation({
    mutationFn: async (form: FormData) => {
      const login = await data(api.POST("/auth/login", { body: { email: String(form.get("email")), password: String(form.get("password")) } }));
      if (login.user.platformRole) {
        await api.POST("/auth/logout", { headers: { Authorization: `Bearer ${login.accessToken}` } });
        throw new ApiError(403, "PLATFORM", "This is the login of a platform administrator, who works with the API, not with a restaurant's dashboard.");
      }
      shareAccessToken(login.accessToken);
    },
  });
  return (
    <Gate title="Log in">
      <Form onSubmit={logIn.mutate}>
        <TextField label="E-mail address" name="email" type="email" autoComplete="username" required autoFocus />
        <TextField label="Password" name="password" type="password" autoComplete="current-password" required />
        <Failure error={logIn.error} />
        <Button type="submit" busy={logIn.isPending}>
          Log in
        </Button>
      </Form>
    </Gate>
  );
}
