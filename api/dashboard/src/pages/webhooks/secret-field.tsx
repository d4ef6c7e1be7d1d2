import * as limits from "@/api/limits";
import { Secret } from "@/ui/dialog";
import { Checkbox, TextField } from "@/ui/field";

import { type ChosenSecret, generatedSecret } from "./secret";

const secretLimits = limits.CreateWebhookRequest.secret;

/** A new webhook secret, which is shown only once. */
export const NewSecret = ({ secret }: { secret: string }) => (
  <Secret text={secret} copyLabel="Copy secret" testId="secret" />
);

/** Lets the user enter a secret instead of the generated one. */
export function OwnSecret({
  own,
  onChange,
  error,
}: {
  own: boolean;
  onChange: (chosen: ChosenSecret) => void;
  error?: string;
}) {
  return (
    <div className="grid gap-2">
      <Checkbox
        checked={own}
        onChange={(event) => onChange(event.target.checked ? { secret: "", own: true } : generatedSecret())}
        label="Use my own secret instead of a generated one"
      />
      {own && (
        <TextField
          label="Secret"
          type="password"
          autoComplete="off"
          {...secretLimits}
          hint={`${secretLimits.minLength} to ${secretLimits.maxLength} characters.`}
          error={error}
          onChange={(event) => onChange({ secret: event.target.value, own: true })}
        />
      )}
    </div>
  );
}
