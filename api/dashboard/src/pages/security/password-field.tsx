import { ComandaError } from "@comanda/client";

import * as limits from "@/api/limits";
import { TextField } from "@/ui/field";

const isWrong = (error: unknown) => error instanceof ComandaError && error.code === "INVALID_CREDENTIALS";

/** Returns a mutation without the error that PasswordField shows. */
export const withoutWrong = (mutation: { isPending: boolean; error: unknown }) => ({
  isPending: mutation.isPending,
  error: isWrong(mutation.error) ? null : mutation.error,
});

/** The form member `password`: the current password, which confirms a change. */
export const PasswordField = ({ error }: { error: unknown }) => (
  <TextField
    label="Password"
    name="password"
    type="password"
    autoComplete="current-password"
    {...limits.CurrentPasswordRequest.password}
    error={isWrong(error) ? "This is not your current password." : undefined}
  />
);

export const passwordOf = (form: FormData) => ({ password: String(form.get("password")) });
