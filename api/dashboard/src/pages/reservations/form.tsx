import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";

import { ApiError, api, data, idempotencyKey } from "@/api/client";
import type { components } from "@/api/schema";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { Dialog, DialogActions } from "@/ui/dialog";
import { Field, TextField, Textarea } from "@/ui/field";
import { Failure } from "@/ui/page";
import { useToast } from "@/ui/toast";

import { CustomerPicker } from "../customers/picker";
import { dayIn, instantIn } from "./day";

/** Takes a reservation. Times are the store's. */
export function ReserveDialog({ day, onClose, onReserved }: { day: string; onClose: () => void; onReserved: (day: string) => void }) {
  const { timezone, atLeast } = useSession();
  const queries = useQueryClient();
  const toast = useToast();
  const [once] = useState(idempotencyKey);
  const [customerId, setCustomerId] = useState<string>();
  const reserve = useMutation({
    mutationFn: (body: components["schemas"]["CreateReservationRequest"]) =>
      data(api.POST("/reservations", { params: { header: { "Idempotency-Key": once } }, body })),
    onSuccess: (made) => {
      toast(`The reservation of ${made.customer.name} is taken`);
      onReserved(dayIn(timezone, new Date(made.startAt)));
      onClose();
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["reservations"] }),
  });
  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    reserve.mutate({
      ...(customerId ? { customerId } : { customer: { name: text("name"), phone: text("phone").replace(/[\s()/-]/g, "") || undefined, email: text("email") || undefined } }),
      partySize: Number(text("partySize")),
      startAt: instantIn(timezone, text("day"), text("time")).toISOString(),
      durationMinutes: text("minutes") ? Number(text("minutes")) : undefined,
      notes: text("notes") || undefined,
    });
  }
  const refused = reserve.error instanceof ApiError ? reserve.error : undefined;
  return (
    <Dialog open onClose={onClose} title="Take a reservation" description={`Times are those of ${timezone}.`}>
      <form onSubmit={submit} className="grid gap-4 sm:grid-cols-2">
        <TextField label="Day" name="day" type="date" required defaultValue={day} error={refused?.at("startAt")} />
        <TextField label="Time" name="time" type="time" required defaultValue="19:00" />
        <TextField label="Guests" name="partySize" type="number" min={1} max={500} required defaultValue={2} error={refused?.at("partySize")} />
        <TextField label="Minutes" name="minutes" type="number" min={15} max={1440} placeholder="as usual" error={refused?.at("durationMinutes")} />
        {atLeast("MANAGER") && <CustomerPicker className="sm:col-span-2" picked={customerId} onPick={(customer) => setCustomerId(customer?.id)} />}
        {!customerId && (
          <>
            <TextField label="Name" name="name" required maxLength={200} autoComplete="off" className="sm:col-span-2" error={refused?.at("customer.name")} />
            <TextField label="Phone" name="phone" type="tel" autoComplete="off" hint="With the country: +49 151 2345678" error={refused?.at("customer.phone")} />
            <TextField label="E-mail" name="email" type="email" autoComplete="off" error={refused?.at("customer.email")} />
          </>
        )}
        <Field label="Notes" className="sm:col-span-2" error={refused?.at("notes")}>
          {(ids) => <Textarea {...ids} name="notes" maxLength={1000} placeholder="A high chair, please." />}
        </Field>
        <div className="grid gap-4 sm:col-span-2">
          {refused?.code === "SLOT_FULL" ? (
            <p role="alert" className="rounded-md border border-warning/40 p-3 text-sm text-warning">
              There are not enough seats at that time. Try an earlier or a later one, or fewer guests.
            </p>
          ) : (
            <Failure error={reserve.error} />
          )}
          <DialogActions>
            <Button variant="outline" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" busy={reserve.isPending}>
              Reserve
            </Button>
          </DialogActions>
        </div>
      </form>
    </Dialog>
  );
}
