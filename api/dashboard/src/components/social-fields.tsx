import type { components } from "@comanda/client";

import * as limits from "@/api/limits";
import { Field, Textarea } from "@/ui/field";

export type ClientIDs = components["schemas"]["ClientIDs"];
type Provider = keyof ClientIDs;

/** The providers of social logins. */
export const providers: Record<Provider, string> = { google: "Google", apple: "Apple", facebook: "Facebook" };

/** Returns the client ids of the providers that the form changes. */
export function socialChange(current: ClientIDs, form: FormData): Partial<ClientIDs> {
  const change: Partial<ClientIDs> = {};
  for (const provider of Object.keys(providers) as Provider[]) {
    const ids = [
      ...new Set(
        String(form.get(provider))
          .split(/[\s,]+/)
          .filter(Boolean),
      ),
    ];
    if ([...ids].sort().join("\n") !== [...current[provider]].sort().join("\n")) change[provider] = ids;
  }
  return change;
}

type Props = { social: ClientIDs; readOnly?: boolean; error: (path: string) => string | undefined };

/** One field of client ids per provider. */
export const SocialFields = ({ social, readOnly, error }: Props) => (
  <>
    {(Object.entries(providers) as [Provider, string][]).map(([provider, name]) => (
      <Field
        key={provider}
        label={`${name} client ids`}
        hint={`One per line, at most ${limits.ClientIDsRequest[provider].maxItems}. Without ids, the provider is off.`}
        error={
          error(`social.${provider}`) ??
          social[provider]
            .concat("")
            .map((_, i) => error(`social.${provider}[${i}]`))
            .find(Boolean)
        }
      >
        {(ids) => (
          <Textarea
            {...ids}
            name={provider}
            rows={3}
            spellCheck={false}
            readOnly={readOnly}
            defaultValue={social[provider].join("\n")}
          />
        )}
      </Field>
    ))}
  </>
);
