import { ComandaError } from "@comanda/client";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { api, data } from "@/api/client";
import { shareAccessToken } from "@/api/token";
import { OtpField, otpOf } from "@/components/otp-field";
import { Button } from "@/ui/button";
import { Form, TextField } from "@/ui/field";
import { Failure } from "@/ui/page";

import { ForgotPassword } from "./forgot-password";
import { Gate } from "./gate";

type Credentials = { email: string; password: string };

/** The login page, shown at every address while the user is logged out. */
export function LoginPage() {
  // The right credentials of a user with a second factor; the next step asks for the code.
  const [proven, setProven] = useState<Credentials | null>(null);
  const [forgot, setForgot] = useState(false);
  const logIn = useMutation({
    gcTime: 0,
    mutationFn: async (body: Credentials & { otp?: string }) => {
      const login = await data(api.POST("/auth/login", { body }));
      shareAccessToken(login.accessToken);
    },
    onError: (error, { email, password }) => {
      if (error instanceof ComandaError && error.code === "OTP_REQUIRED") setProven({ email, password });
    },
  });
  if (forgot) return <ForgotPassword onClose={() => setForgot(false)} />;
  if (proven) {
    const wrong = logIn.error instanceof ComandaError && logIn.error.code === "INVALID_CREDENTIALS";
    const asked = logIn.error instanceof ComandaError && logIn.error.code === "OTP_REQUIRED";
    return (
      <Gate title="Second factor">
        <Form onSubmit={(form) => logIn.mutate({ ...proven, otp: otpOf(form) })}>
          <OtpField error={wrong ? "This code is not correct or was already used. Try the next code." : undefined} />
          {!wrong && !asked && <Failure error={logIn.error} />}
          <Button type="submit" busy={logIn.isPending}>
            Log in
          </Button>
          <Button
            variant="outline"
            onClick={() => {
              logIn.reset();
              setProven(null);
            }}
          >
            Use another login
          </Button>
        </Form>
      </Gate>
    );
  }
  return (
    <Gate title="Log in">
      <Form
        onSubmit={(form) => logIn.mutate({ email: String(form.get("email")), password: String(form.get("password")) })}
      >
        <TextField label="Email" name="email" type="email" autoComplete="username" required autoFocus />
        <TextField label="Password" name="password" type="password" autoComplete="current-password" required />
        <Failure error={logIn.error} />
        <Button type="submit" busy={logIn.isPending}>
          Log in
        </Button>
        <Button variant="link" size="small" onClick={() => setForgot(true)}>
          Forgot password?
        </Button>
      </Form>
    </Gate>
  );
}
