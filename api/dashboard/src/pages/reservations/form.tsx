import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, data, faultsIn, idempotencyKey } from "@/api/client";
import type { components } from "@/api/schema";
import { useSession } from "@/session/session";
import { FormDialog } from "@/ui/dialog";
import { Field, TextField, Textarea } from "@/ui/field";
import { useToast } from "@/ui/toast";
import { dayOf, instantOf } from "@/ui/zone";

import { CustomerPicker } from "../customers/picker";

/** Takes a reservation. Times are the store's. */
export function ReserveDialog({ day, onClose, onReserved }: { day: string; onClose: () => void; onReserved: (day: string) => void }) {
  const { timezone, atLeast } = useSession();
  const queries = useQueryClient();
  const toast = useToast();
  const [once] = useState(idempotencyKey);
  const [customerId, setCustomerId] = useState<string>();
  const reserve = useMutation({
    mutationFn: (body: components["schemas"]["CreateReservationRequest"]) => data(api.POST("/reservations", { params: { header: { "Idempotency-Key": once } }, body })),
    onSuccess: (made) => {
      toast(`The reservation of ${made.customer.name} is taken`);
      onReserved(dayOf(Date.parse(made.startAt), timezone));
      onClose();
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["reservations"] }),
  });
  function submit(form: FormData) {
    const text = (name: string) => String(form.get(name) ?? "").trim();
    reserve.mutate({
      ...(customerId ? { customerId } : { customer: { name: text("name"), phone: text("phone").replace(/[\s()/-]/g, "") || undefined, email: text("email") || undefined } }),
      partySize: Number(text("partySize")),
      startAt: instantOf(text("day"), text("time"), timezone).toISOString(),
      durationMinutes: text("minutes") ? Number(text("minutes")) : undefined,
      notes: text("notes") || undefined,
    });
  }
  const wrong = faultsIn(reserve.error);
  return (
    <FormDialog
      onClose={onClose}
      title="Take a reservation"
      description={`Times are those of ${timezone}.`}
      doing={reserve}
      onSubmit={submit}
      deed="Reserve"
      className="sm:grid-cols-2"
    >
      <TextField label="Day" name="day" type="date" required defaultValue={day} error={wrong("startAt")} />
      <TextField label="Time" name="time" type="time" required defaultValue="19:00" />
      <TextField label="Guests" name="partySize" type="number" min={1} max={500} required defaultValue={2} error={wrong("partySize")} />
      <TextField label="Minutes" name="minutes" type="number" min={15} max={1440} placeholder="as usual" error={wrong("durationMinutes")} />
      {atLeast("MANAGER") && <CustomerPicker className="sm:col-span-2" picked={customerId} onPick={(customer) => setCustomerId(customer?.id)} />}
      {!customerId && (
        <>
          <TextField label="Name" name="name" required maxLength={200} autoComplete="off" className="sm:col-span-2" error={wrong("customer.name")} />
          <TextField label="Phone" name="phone" type="tel" autoComplete="off" hint="With the country: +49 151 2345678" error={wrong("customer.phone")} />
          <TextField label="E-mail" name="email" type="email" autoComplete="off" error={wrong("customer.email")} />
        </>
      )}
      <Field label="Notes" className="sm:col-span-2" error={wrong("notes")}>
        {(ids) => <Textarea {...ids} name="notes" maxLength={1000} placeholder="A high chair, please." />}
      </Field>
    </FormDialog>
  );
}
