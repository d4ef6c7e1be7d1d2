import type { ComandaError } from "@comanda/client";

import { fieldErrors } from "@/api/client";
import * as limits from "@/api/limits";
import { CustomerPicker } from "@/components/customer-picker";
import { useSession } from "@/session/session";
import { TextField } from "@/ui/field";
import { Card } from "@/ui/page";
import { PhoneField } from "@/ui/phone-field";

import type { Draft } from "./draft";

type Props = { draft: Draft; set: (change: Partial<Draft>) => void; refusal?: ComandaError };

/** A known customer or a guest. Searching for customers requires the role MANAGER. */
export function Guest({ draft, set, refusal }: Props) {
  const { atLeast } = useSession();
  return (
    <Card title="Guest">
      <div className="grid gap-4 sm:grid-cols-2">
        {atLeast("MANAGER") && (
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
      </div>
    </Card>
  );
}
