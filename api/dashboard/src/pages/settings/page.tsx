import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";

import { ApiError, api, data } from "@/api/client";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { Checkbox, SelectField, TextField } from "@/ui/field";
import { plainMoney } from "@/ui/format";
import { Card, Failure, PageHeader, QueryState } from "@/ui/page";
import { useToast } from "@/ui/toast";

import { type Change, type Settings, changeOf, numbers } from "./change";
import { plainPercent } from "./percent";

const key = ["settings"];

export function SettingsPage() {
  const { storeName } = useSession();
  // What is typed stays while it is typed, so nothing is read again behind one's back.
  const settings = useQuery({ queryKey: key, queryFn: () => data(api.GET("/settings")), refetchOnWindowFocus: false });
  return (
    <>
      <PageHeader title="Settings" about={`What ${storeName} decides about itself. Orders and reservations of before a change stay as they were.`} />
      <QueryState of={settings} />
      {settings.data && <Form key={settings.data.version} settings={settings.data} reload={() => settings.refetch()} />}
    </>
  );
}

function Form({ settings, reload }: { settings: Settings; reload: () => Promise<unknown> }) {
  const { stores, storeId } = useSession();
  const queries = useQueryClient();
  const toast = useToast();
  const [faults, setFaults] = useState<Record<string, string>>({});
  const views = stores.find((store) => store.storeId === storeId)?.storeViews ?? [];
  const currencies = [...new Set([...views.map((view) => view.currency), ...Object.keys(settings.deliveryFees)])].sort();
  const save = useMutation({
    mutationFn: (body: Change) => data(api.PATCH("/settings", { body, params: { header: { "If-Match": `"${settings.version}"` } } })),
    onSuccess: (changed) => {
      toast("The settings are saved");
      queries.setQueryData(key, changed);
      void queries.invalidateQueries({ predicate: (query) => query.queryKey[0] !== key[0] }); // days and times are shown in the store's zone
    },
  });
  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const { change, faults } = changeOf(settings, new FormData(event.currentTarget), currencies);
    setFaults(faults);
    if (Object.keys(faults).length > 0) return;
    if (Object.keys(change).length === 0) return toast("There is nothing to save: nothing was changed");
    save.mutate(change);
  }
  const refused = save.error instanceof ApiError ? save.error : undefined;
  const error = (path: string) => faults[path] ?? refused?.at(path);
  const number = (name: keyof typeof numbers) => ({ name, type: "number", required: true, step: 1, ...numbers[name], defaultValue: settings[name], error: error(name) });
  return (
    <form onSubmit={submit} noValidate className="grid max-w-3xl gap-5">
      <Card title="Time">
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label="Time zone"
            name="timezone"
            required
            list="timezones"
            autoComplete="off"
            spellCheck={false}
            defaultValue={settings.timezone}
            hint="Type to search: Europe/Berlin, say. Business dates of before stay as they are."
            error={error("timezone")}
          />
          <datalist id="timezones">
            {Intl.supportedValuesOf("timeZone").map((zone) => (
              <option key={zone} value={zone} />
            ))}
          </datalist>
          <SelectField
            label="The business day begins at"
            name="businessDayCutoffHour"
            defaultValue={settings.businessDayCutoffHour}
            hint="What happens before counts to the day before."
            error={error("businessDayCutoffHour")}
          >
            {Array.from({ length: 24 }, (_, hour) => (
              <option key={hour} value={hour}>
                {`${String(hour).padStart(2, "0")}:00`}
              </option>
            ))}
          </SelectField>
        </div>
      </Card>
      <Card title="Tax">
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label="Tax rate in percent"
            name="taxRatePpm"
            inputMode="decimal"
            required
            defaultValue={plainPercent(settings.taxRatePpm)}
            hint="For products without a rate of their own."
            error={error("taxRatePpm")}
          />
          <div className="grid content-center gap-3">
            <Checkbox name="taxIncluded" label="Prices contain the tax" defaultChecked={settings.taxIncluded} />
            <Checkbox name="taxDeliveryFee" label="The delivery fee is taxed" defaultChecked={settings.taxDeliveryFee} />
          </div>
        </div>
      </Card>
      <Card title="Delivery fees">
        {currencies.length === 0 && <p className="text-sm text-muted-foreground">This store sells in no currency yet.</p>}
        <div className="grid gap-4 sm:grid-cols-3">
          {currencies.map((currency) => {
            const fee = settings.deliveryFees[currency];
            const name = `deliveryFees.${currency}`;
            return (
              <TextField
                key={currency}
                label={`Fee in ${currency}`}
                name={name}
                inputMode="decimal"
                defaultValue={fee === undefined ? "" : plainMoney(fee, currency)}
                hint="Empty: nothing is charged."
                error={error(name)}
              />
            );
          })}
        </div>
      </Card>
      <Card title="Reservations">
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField label="Seats" {...number("seats")} hint="How many guests can be reserved for at once. 0 takes no reservations." />
          <TextField label="Length in minutes" {...number("reservationMinutes")} hint="Of a reservation that does not say it." />
          <TextField label="Notice in minutes" {...number("bookingLeadMinutes")} hint="How long before its start a reservation must be made." />
          <TextField label="Days ahead" {...number("bookingMaxDays")} hint="How many days before its start it can be made." />
        </div>
      </Card>
      <Failure error={save.error} />
      {Object.keys(faults).length > 0 && (
        <p role="alert" className="text-sm text-danger">
          Something above makes no sense yet. Nothing was saved.
        </p>
      )}
      {/* The button stays in sight on a phone, where the form is long. */}
      <div className="sticky bottom-0 flex flex-wrap justify-end gap-2 border-t bg-background py-3">
        {refused?.code === "VERSION_MISMATCH" ? (
          <Button variant="outline" onClick={() => void reload()}>
            Show what was saved meanwhile
          </Button>
        ) : (
          <Button variant="outline" type="reset" onClick={() => setFaults({})}>
            Undo
          </Button>
        )}
        <Button type="submit" busy={save.isPending}>
          Save
        </Button>
      </div>
    </form>
  );
}
