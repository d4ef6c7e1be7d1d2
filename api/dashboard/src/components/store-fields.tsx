import { Plus, Trash2 } from "lucide-react";
import { useId } from "react";

import { useAccount } from "@/session/account";
import { Button } from "@/ui/button";
import { countries } from "@/ui/countries";
import { SelectField, TextField } from "@/ui/field";

type ErrorOf = (path: string) => string | undefined;

export function CountryField({ defaultValue, error }: { defaultValue?: string; error?: string }) {
  const { locale } = useAccount();
  return (
    <SelectField label="Country" name="countryCode" required defaultValue={defaultValue ?? ""} error={error}>
      {!defaultValue && <option value="">Choose a country</option>}
      {countries(locale).map(([code, name]) => (
        <option key={code} value={code}>
          {name}
        </option>
      ))}
    </SelectField>
  );
}

export function TimezoneField({ error }: { error?: string }) {
  const id = useId();
  return (
    <>
      <TextField
        label="Time zone"
        name="timezone"
        required
        list={id}
        autoComplete="off"
        spellCheck={false}
        defaultValue={Intl.DateTimeFormat().resolvedOptions().timeZone}
        hint="Type to search, for example Europe/Berlin."
        error={error}
      />
      <datalist id={id}>
        {Intl.supportedValuesOf("timeZone").map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
    </>
  );
}

export type ViewDraft = { key: number; locale: string; currency: string };

/** The locale and currency of one view. */
export function ViewFields({
  view,
  onChange,
  error,
}: {
  view: Pick<ViewDraft, "locale" | "currency">;
  onChange: (next: { locale?: string; currency?: string }) => void;
  error: ErrorOf;
}) {
  const id = useId();
  return (
    <div className="grid min-w-0 flex-1 gap-3 sm:grid-cols-2">
      <TextField
        label="Locale"
        required
        autoComplete="off"
        spellCheck={false}
        placeholder="de-DE"
        value={view.locale}
        onChange={(event) => onChange({ locale: event.target.value })}
        hint="Language and country, such as de-DE."
        error={error("locale")}
      />
      <TextField
        label="Currency"
        required
        autoComplete="off"
        spellCheck={false}
        placeholder="EUR"
        list={id}
        value={view.currency}
        onChange={(event) => onChange({ currency: event.target.value.toUpperCase() })}
        hint="The prices of this view, such as EUR."
        error={error("currency")}
      />
      <datalist id={id}>
        {Intl.supportedValuesOf("currency").map((code) => (
          <option key={code} value={code} />
        ))}
      </datalist>
    </div>
  );
}

type ViewsProps = {
  views: ViewDraft[];
  max: number;
  onChange: (next: ViewDraft[]) => void;
  /** Returns the error of a member of the view at an index. */
  error: (index: number, member: string) => string | undefined;
};

/** The views of a new store. The first one is the default. */
export function ViewsField({ views, max, onChange, error }: ViewsProps) {
  return (
    <fieldset className="grid gap-3">
      <legend className="mb-1 text-sm font-medium">Views</legend>
      <p className="text-xs text-muted-foreground">
        A view is a language and a currency in which the store sells. The first view is the default.
      </p>
      {views.map((view, index) => (
        <div key={view.key} className="flex items-start gap-2">
          <ViewFields
            view={view}
            onChange={(next) => onChange(views.map((one) => (one === view ? { ...one, ...next } : one)))}
            error={(member) => error(index, member)}
          />
          {views.length > 1 && (
            <Button
              variant="ghost"
              size="icon"
              className="mt-6.5"
              aria-label={`Remove view ${index + 1}`}
              onClick={() => onChange(views.filter((one) => one !== view))}
            >
              <Trash2 />
            </Button>
          )}
        </div>
      ))}
      {views.length < max && (
        <Button
          variant="outline"
          size="small"
          className="justify-self-start"
          onClick={() =>
            onChange([...views, { key: Math.max(...views.map((one) => one.key)) + 1, locale: "", currency: "" }])
          }
        >
          <Plus aria-hidden /> Add view
        </Button>
      )}
    </fieldset>
  );
}
