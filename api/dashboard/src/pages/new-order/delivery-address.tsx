import type { ComandaError } from "@comanda/client";
import { useQuery } from "@tanstack/react-query";

import { fieldErrors } from "@/api/client";
import * as limits from "@/api/limits";
import { queries } from "@/api/queries";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { countries } from "@/ui/countries";
import { SelectField, TextField } from "@/ui/field";
import { Card } from "@/ui/page";

import { type Draft, addressOf } from "./draft";

type Props = { draft: Draft; set: (change: Partial<Draft>) => void; refusal?: ComandaError };

/** The address of a new order for delivery. Buttons fill in the addresses of a known customer. */
export function DeliveryAddress({ draft, set, refusal }: Props) {
  const { locale, country, atLeast } = useSession();
  const field = (name: keyof Draft["address"]) => ({
    value: draft.address[name],
    autoComplete: "off",
    onChange: (event: { target: { value: string } }) =>
      set({ address: { ...draft.address, [name]: event.target.value } }),
    error: fieldErrors(refusal)(`deliveryAddress.${name}`),
  });
  return (
    <Card title="Delivery address">
      <div className="grid gap-4 sm:grid-cols-2">
        {draft.customerId && atLeast("MANAGER") && (
          <Saved customer={draft.customerId} onPick={(address) => set({ address })} />
        )}
        <TextField label="Street and number" {...limits.DeliveryAddress.line1} {...field("line1")} />
        <TextField label="Floor and door" {...limits.DeliveryAddress.line2} {...field("line2")} />
        <TextField label="Postal code" {...limits.DeliveryAddress.postalCode} {...field("postalCode")} />
        <TextField label="City" {...limits.DeliveryAddress.city} {...field("city")} />
        <TextField label="State or region" {...limits.DeliveryAddress.region} {...field("region")} />
        <SelectField label="Country" required {...field("country")} value={draft.address.country || country}>
          {country === "" && <option value="">Choose a country</option>}
          {countries(locale).map(([code, name]) => (
            <option key={code} value={code}>
              {name}
            </option>
          ))}
        </SelectField>
        <TextField label="Notes for the courier" {...limits.DeliveryAddress.notes} {...field("notes")} />
      </div>
    </Card>
  );
}

function Saved({ customer, onPick }: { customer: string; onPick: (address: Draft["address"]) => void }) {
  const addresses = useQuery(queries.customers.addresses(customer));
  if (!addresses.data || addresses.data.length === 0) return null;
  return (
    <div className="flex flex-wrap gap-2 sm:col-span-2" role="group" aria-label="Saved addresses">
      {addresses.data.map((one) => (
        <Button key={one.id} variant="outline" size="small" onClick={() => onPick(addressOf(one))}>
          {one.label || one.line1}
        </Button>
      ))}
    </div>
  );
}
