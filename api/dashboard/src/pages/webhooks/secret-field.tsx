import { Secret } from "@/ui/dialog";
import { Checkbox, TextField } from "@/ui/field";

import { type ChosenSecret, madeSecret } from "./secret";

/** A webhook's secret, this once. */
export const ShownSecret = ({ secret }: { secret: string }) => <Secret text={secret} copy="Copy the secret" testId="secret" />;

/** Takes a secret that somebody has already, instead of the one made here. */
export function OwnSecret({ own, onChange, error }: { own: boolean; onChange: (chosen: ChosenSecret) => void; error?: string }) {
  return (
    <div className="grid gap-2">
      <Checkbox
        checked={own}
        onChange={(event) => onChange(event.target.checked ? { secret: "", own: true } : madeSecret())}
        label="Use a secret of my own, instead of one made by this browser"
      />
      {own && (
        <TextField
          label="Secret"
          type="password"
          autoComplete="off"
          required
          minLength={32}
          maxLength={256}
          hint="32 to 256 characters."
          error={error}
          onChange={(event) => onChange({ secret: event.target.value, own: true })}
        />
      )}
    </div>
  );
}
