import type { ComandaError } from "@comanda/client";
import { useState } from "react";

import { fieldErrors } from "@/api/client";
import * as limits from "@/api/limits";
import { CustomerPicker } from "@/components/customer-picker";
import { useSession } from "@/session/session";
import { useStaffRight } from "@/session/staff-right";
import { TextField } from "@/ui/field";
import { Card } from "@/ui/page";
import { PhoneField } from "@/ui/phone-field";

import { type Draft, needsGuest } from "./draft";
import { type Found, PhoneLookup } from "./phone-lookup";

type Props = {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  change: (apply: (draft: Draft) => Draft) => void;
  refusal?: ComandaError;
};

/**
 * A known customer, a guest, or nobody. Only a delivery, and a guest who leaves an email or phone number, need a name.
 * Searching for customers requires the role MANAGER, the lookup by phone a right.
 */
export function Guest({ draft, set, change, refusal }: Props) {
  const { atLeast } = useSession();
  const canFind = useStaffRight("FIND_CUSTOMERS");
  const [found, setFound] = useState<Found>();
  const known = found?.id === draft.customerId ? found : undefined;
  return (
    <Card title="Guest">
      <div className="grid gap-4 sm:grid-cols-2">
        {atLeast("MANAGER") && !known && (
          <CustomerPicker
            className="sm:col-span-2"
            picked={draft.customerId}
            onPick={(customer) => set({ customerId: customer?.id })}
          />
        )}
        {!draft.customerId && (
          <>
            <TextField
              label="Name"
              {...limits.GuestRequest.name}
              required={needsGuest(draft)}
              autoComplete="off"
              value={draft.name}
              onChange={(event) => set({ name: event.target.value })}
              error={fieldErrors(refusal)("customer.name")}
              className="sm:col-span-2"
            />
            <PhoneField
              value={draft.phone}
              onValue={(phone) => set({ phone })}
              error={fieldErrors(refusal)("customer.phone")}
            />
            <TextField
              label="Email"
              type="email"
              {...limits.GuestRequest.email}
              autoComplete="off"
              value={draft.email}
              onChange={(event) => set({ email: event.target.value })}
              error={fieldErrors(refusal)("customer.email")}
            />
          </>
        )}
        {canFind && (known || !draft.customerId) && (
          <PhoneLookup draft={draft} found={known} onFound={setFound} change={change} />
        )}
      </div>
    </Card>
  );
}
