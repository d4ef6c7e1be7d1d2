import { ComandaError } from "@comanda/client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";

import { api, data, ifMatch } from "@/api/client";
import { queries, useInvalidate } from "@/api/queries";
import { fulfillmentTypes, fulfillments } from "@/domain/orders";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { Checkbox, SelectField, TextField } from "@/ui/field";
import { LeaveDialog } from "@/ui/leave";
import { Card, Failure, PageHeader, QueryState } from "@/ui/page";
import { useToast } from "@/ui/toast";

import {
  type Change,
  type Fields,
  type Settings,
  changeOf,
  changedFields,
  closuresOf,
  fieldsOf,
  numbers,
  rebase,
  text,
} from "./change";
import { Closures } from "./closures";
import { HoursEditor } from "./hours-editor";
import { labelOf } from "./labels";
import { SecondFactor } from "./second-factor";

export function SettingsPage() {
  const { storeName } = useSession();
  const settings = useQuery(queries.settings);
  return (
    <>
      <PageHeader
        title="Settings"
        about={`Settings of ${storeName}. Changes do not affect existing orders and reservations.`}
      />
      <QueryState of={settings} />
      {settings.data && <SettingsForm settings={settings.data} />}
    </>
  );
}

/** The user's changes: `fields` differ from `base`, the fields of the settings that were read with `version`. */
type Edit = { version: number; base: Fields; fields: Fields; conflicts: string[] };

/** Returns an edit of newer settings with the changes of an earlier edit. */
function moved({ base, fields }: Edit, newer: Settings, currencies: string[]): Edit {
  const theirs = fieldsOf(newer, currencies);
  return { version: newer.version, base: theirs, ...rebase(base, fields, theirs) };
}

const patchSettings = (body: Change, version: number) =>
  data(api.PATCH("/settings", { body, params: { header: ifMatch({ version }) } }));

const isOutdated = (error: unknown) => error instanceof ComandaError && error.code === "VERSION_MISMATCH";

/** Thrown if somebody else has changed the same fields. */
class Conflict extends Error {}

function useEdit(settings: Settings) {
  const { store, locale } = useSession();
  const views = store?.storeViews ?? [];
  const currencies = [
    ...new Set([...views.map((view) => view.currency), ...Object.keys(settings.deliveryFees)]),
  ].sort();
  const [edit, setEdit] = useState<Edit>(() => {
    const base = fieldsOf(settings, currencies);
    return { version: settings.version, base, fields: base, conflicts: [] };
  });
  if (settings.version > edit.version) setEdit(moved(edit, settings, currencies));
  const { change, errors } = changeOf(edit.base, edit.fields, locale);
  return {
    ...edit,
    change,
    errors,
    currencies,
    dirty: changedFields(edit.base, edit.fields).length > 0,
    set: (changed: Fields) => setEdit((before) => ({ ...before, fields: { ...before.fields, ...changed } })),
    discard: () => setEdit((before) => ({ ...before, fields: before.base, conflicts: [] })),
    move: (newer: Settings) => {
      setEdit((before) => moved(before, newer, currencies)); // the user may have typed meanwhile
      const next = moved(edit, newer, currencies);
      return { ...next, ...changeOf(next.base, next.fields, locale) };
    },
  };
}

function SettingsForm({ settings }: { settings: Settings }) {
  const { locale } = useSession();
  const client = useQueryClient();
  const invalidate = useInvalidate();
  const toast = useToast();
  const edit = useEdit(settings);
  const { fields, set } = edit;
  const [checked, setChecked] = useState(false);
  const save = useMutation({
    mutationFn: async () => {
      try {
        return await patchSettings(edit.change, edit.version);
      } catch (error) {
        if (!isOutdated(error)) throw error;
      }
      // Somebody else has saved other settings meanwhile. Their fields stay unless the user has changed the same ones.
      const newer = await data(api.GET("/settings"));
      const next = edit.move(newer);
      if (next.conflicts.length > 0) throw new Conflict();
      return Object.keys(next.change).length === 0 ? newer : patchSettings(next.change, next.version);
    },
    onSuccess: (changed) => {
      toast("Settings saved");
      setChecked(false);
      client.setQueryData(queries.settings.queryKey, changed);
      void invalidate("settings");
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    setChecked(true);
    if (save.isPending || Object.keys(edit.errors).length > 0) return;
    if (!edit.dirty) return toast("No changes to save");
    save.mutate();
  }
  const refusal = save.error instanceof ComandaError ? save.error : undefined;
  const error = (path: string) => {
    const refused = refusal?.details.find((detail) => detail.path === path || detail.path.startsWith(`${path}[`));
    return (checked ? edit.errors[path] : undefined) ?? refused?.message;
  };
  const invalid = checked && Object.keys(edit.errors).length > 0;
  const field = (name: string) => ({
    name,
    value: text(fields, name),
    onChange: (event: { target: { value: string } }) => set({ [name]: event.target.value }),
    error: error(name),
  });
  const number = (name: string) => ({
    ...field(name),
    label: labelOf(name),
    type: "number",
    required: true,
    step: 1,
    ...numbers[name],
  });
  const checkbox = (name: string) => ({
    label: labelOf(name),
    checked: fields[name] as boolean,
    onChange: (event: { target: { checked: boolean } }) => set({ [name]: event.target.checked }),
  });
  return (
    <form onSubmit={submit} noValidate className="grid max-w-3xl gap-5">
      <LeaveDialog unsaved={edit.dirty} />
      <Card title="Time">
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label={labelOf("timezone")}
            {...field("timezone")}
            required
            list="timezones"
            autoComplete="off"
            spellCheck={false}
            hint="Type to search, for example Europe/Berlin. The business days of existing orders do not change."
          />
          <datalist id="timezones">
            {Intl.supportedValuesOf("timeZone").map((zone) => (
              <option key={zone} value={zone} />
            ))}
          </datalist>
          <SelectField
            label={labelOf("businessDayCutoffHour")}
            {...field("businessDayCutoffHour")}
            hint="Orders before this hour count toward the previous business day."
          >
            {Array.from({ length: 24 }, (_, hour) => (
              <option key={hour} value={hour}>
                {`${String(hour).padStart(2, "0")}:00`}
              </option>
            ))}
          </SelectField>
        </div>
      </Card>
      <HoursEditor fields={fields} set={set} errorOf={error} />
      <Closures closures={closuresOf(fields)} onChange={(closures) => set({ closures })} errorOf={error} />
      <Card title="Orders">
        <div className="grid gap-4 sm:grid-cols-3">
          {fulfillmentTypes.map((type) => (
            <TextField
              key={type}
              {...number(`prepMinutes.${type}`)}
              hint={`From a new order to its promised time, for ${fulfillments[type].toLowerCase()}.`}
            />
          ))}
        </div>
        <div className="mt-4 grid gap-4 sm:grid-cols-2">
          <TextField
            {...number("orderLeadMinutes")}
            hint="The minimum time from an order to the time for which it is wanted."
          />
          <TextField {...number("orderMaxDays")} hint="How far ahead guests can order. 0 = no orders for later." />
          <TextField
            {...number("acceptance.remindAfterMinutes")}
            hint="Your team is reminded of an order of your shop that nobody has accepted. 0 = no reminder."
          />
          <TextField
            {...number("acceptance.cancelAfterMinutes")}
            hint="An order of your shop that nobody has accepted is cancelled. 0 = never."
          />
        </div>
      </Card>
      <Card title="Tax">
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label={labelOf("taxRatePpm")}
            {...field("taxRatePpm")}
            inputMode="decimal"
            required
            hint="For products without their own tax rate."
          />
          <div className="grid content-center gap-3">
            <Checkbox {...checkbox("taxIncluded")} />
            <Checkbox {...checkbox("taxDeliveryFee")} />
          </div>
        </div>
      </Card>
      <Card title="Delivery fees">
        {edit.currencies.length === 0 && (
          <p className="text-sm text-muted-foreground">
            This store has no views. Fees appear here for each currency of its views.
          </p>
        )}
        <div className="grid gap-4 sm:grid-cols-3">
          {edit.currencies.map((currency) => (
            <TextField
              key={currency}
              label={labelOf(`deliveryFees.${currency}`)}
              {...field(`deliveryFees.${currency}`)}
              inputMode="decimal"
              hint="Leave it empty to charge no fee."
            />
          ))}
        </div>
      </Card>
      <Card title="Reservations">
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            {...number("seats")}
            hint="The number of guests with reservations at the same time. 0 turns reservations off."
          />
          <TextField {...number("reservationMinutes")} hint="For reservations without a duration." />
          <TextField {...number("bookingLeadMinutes")} hint="The minimum time between booking and start." />
          <TextField {...number("bookingMaxDays")} hint="The maximum time between booking and start." />
        </div>
      </Card>
      <SecondFactor
        required={fields.requireOtp as boolean}
        onChange={(requireOtp) => set({ requireOtp })}
        error={error("requireOtp")}
      />
      {edit.conflicts.length > 0 ? (
        <div role="alert" className="rounded-md border border-warning/40 p-3 text-sm">
          <p>Another user has changed the same settings. Save again to replace their values with yours:</p>
          <ul className="mt-1 list-inside list-disc">
            {edit.conflicts.map((name) => (
              <li key={name}>
                {labelOf(name, locale)}
                {typeof edit.base[name] === "string" && `: now “${edit.base[name]}”`}
              </li>
            ))}
          </ul>
        </div>
      ) : (
        !(save.error instanceof Conflict) && <Failure error={save.error} />
      )}
      {invalid && (
        <p role="alert" className="text-sm text-danger">
          Some fields are invalid. Correct them and save again.
        </p>
      )}
      {/* Sticky, because the form is longer than the screen of a phone. */}
      <div className="sticky bottom-0 z-10 flex flex-wrap items-center justify-end gap-2 border-t bg-background py-3">
        {edit.dirty && <span className="mr-auto text-sm text-muted-foreground">Unsaved changes</span>}
        <Button
          variant="outline"
          disabled={!edit.dirty}
          onClick={() => {
            edit.discard();
            setChecked(false);
            save.reset();
          }}
        >
          Discard changes
        </Button>
        <Button type="submit" busy={save.isPending}>
          Save
        </Button>
      </div>
    </form>
  );
}
