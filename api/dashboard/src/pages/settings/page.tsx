import { ComandaError } from "@comanda/client";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";

import { queries } from "@/api/queries";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { LeaveDialog } from "@/ui/leave";
import { Failure, PageHeader, QueryState } from "@/ui/page";
import { useToast } from "@/ui/toast";

import { type Settings, closuresOf } from "./change";
import { Closures } from "./closures";
import { HoursEditor } from "./hours-editor";
import { labelOf } from "./labels";
import {
  FeesSection,
  LoyaltySection,
  OrdersSection,
  ReservationsSection,
  StaffSection,
  TaxSection,
  TimeSection,
} from "./sections";
import { SecondFactor } from "./second-factor";
import { Conflict, useEdit, useSave } from "./use-edit";

export function SettingsPage() {
  const { storeName } = useSession();
  const settings = useQuery(queries.settings);
  return (
    <>
      <PageHeader
        title="Settings"
        about={`Settings of ${storeName}. Changes do not affect existing orders and reservations.`}
      />
      <QueryState query={settings} />
      {settings.data && <SettingsForm settings={settings.data} />}
    </>
  );
}

function SettingsForm({ settings }: { settings: Settings }) {
  const toast = useToast();
  const edit = useEdit(settings);
  const [checked, setChecked] = useState(false);
  const save = useSave(edit, () => setChecked(false));
  const { fields, set } = edit;
  const invalid = Object.keys(edit.errors).length > 0;
  function submit(event: FormEvent) {
    event.preventDefault();
    setChecked(true);
    if (save.isPending || invalid) return;
    if (!edit.dirty) return toast("No changes to save");
    save.mutate();
  }
  function discard() {
    edit.discard();
    setChecked(false);
    save.reset();
  }
  const refused = save.error instanceof ComandaError ? save.error.details : [];
  const errorOf = (path: string) =>
    (checked ? edit.errors[path] : undefined) ??
    refused.find((detail) => detail.path === path || detail.path.startsWith(`${path}[`))?.message;
  const section = { fields, set, errorOf };
  return (
    <form onSubmit={submit} noValidate className="grid max-w-3xl gap-5">
      <LeaveDialog unsaved={edit.dirty} />
      <TimeSection {...section} />
      <HoursEditor {...section} />
      <Closures closures={closuresOf(fields)} onChange={(closures) => set({ closures })} errorOf={errorOf} />
      <OrdersSection {...section} />
      <StaffSection {...section} />
      <TaxSection {...section} />
      <FeesSection {...section} currencies={edit.currencies} />
      <LoyaltySection {...section} currencies={edit.currencies} />
      <ReservationsSection {...section} />
      <SecondFactor
        required={fields.requireOtp as boolean}
        onChange={(requireOtp) => set({ requireOtp })}
        error={errorOf("requireOtp")}
      />
      {edit.conflicts.length > 0 ? (
        <Conflicts edit={edit} />
      ) : (
        !(save.error instanceof Conflict) && <Failure error={save.error} />
      )}
      {checked && invalid && (
        <p role="alert" className="text-sm text-danger">
          Some fields are invalid. Correct them and save again.
        </p>
      )}
      {/* Sticky, because the form is longer than the screen of a phone. */}
      <div className="sticky bottom-0 z-10 flex flex-wrap items-center justify-end gap-2 border-t bg-background py-3">
        {edit.dirty && <span className="mr-auto text-sm text-muted-foreground">Unsaved changes</span>}
        <Button variant="outline" disabled={!edit.dirty} onClick={discard}>
          Discard changes
        </Button>
        <Button type="submit" busy={save.isPending}>
          Save
        </Button>
      </div>
    </form>
  );
}

/** The fields that both the user and somebody else have changed, with the values of the other. */
function Conflicts({ edit: { conflicts, base } }: { edit: ReturnType<typeof useEdit> }) {
  const { locale } = useSession();
  return (
    <div role="alert" className="rounded-md border border-warning/40 p-3 text-sm">
      <p>Another user has changed the same settings. Save again to replace their values with yours:</p>
      <ul className="mt-1 list-inside list-disc">
        {conflicts.map((name) => (
          <li key={name}>
            {labelOf(name, locale)}
            {typeof base[name] === "string" && `: now “${base[name]}”`}
          </li>
        ))}
      </ul>
    </div>
  );
}
