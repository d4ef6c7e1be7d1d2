import { Link } from "@tanstack/react-router";

import { useSession } from "@/session/session";
import { SelectField } from "@/ui/field";
import { inlineLink } from "@/ui/link";
import { Card } from "@/ui/page";

type Props = { required: boolean; onChange: (required: boolean) => void; error?: string };

/** The field `requireOtp`. If the user cannot change it, the select is disabled. */
export function SecondFactor({ required, onChange, error }: Props) {
  const { user, atLeast, store } = useSession();
  const sandbox = Boolean(store?.sandboxOf);
  const owner = atLeast("OWNER");
  return (
    <Card title="Second factor">
      <div className="grid gap-3">
        <SelectField
          label="Logins of the team"
          disabled={!owner || !user.otpEnabled || sandbox}
          value={String(required)}
          onChange={(event) => onChange(event.target.value === "true")}
          hint={
            "If it is required, users without a second factor must set one up before they can continue to work. " +
            "API keys and customers are not affected."
          }
          error={error}
        >
          <option value="false">The second factor is optional</option>
          <option value="true">Every user needs a second factor</option>
        </SelectField>
        {sandbox ? (
          <p className="text-sm text-muted-foreground">A sandbox has the setting of its live store. Change it there.</p>
        ) : !owner ? (
          <p className="text-sm text-muted-foreground">Only an owner can change this.</p>
        ) : (
          !user.otpEnabled && (
            <p className="text-sm text-muted-foreground">
              To change this,{" "}
              <Link to="/security" className={inlineLink}>
                set up your own second factor
              </Link>{" "}
              first.
            </p>
          )
        )}
      </div>
    </Card>
  );
}
