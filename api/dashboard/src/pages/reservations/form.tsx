import type { components } from "@comanda/client";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { api, data, newIdempotencyKey } from "@/api/client";
import * as limits from "@/api/limits";
import { useInvalidate } from "@/api/queries";
import { CustomerPicker } from "@/components/customer-picker";
import { dayOf, instantOf } from "@/domain/zone";
import { useSession } from "@/session/session";
import { FormDialog } from "@/ui/dialog";
import { TextField } from "@/ui/field";
import { internationalPhone } from "@/ui/phone";
import { PhoneField } from "@/ui/phone-field";
import { useToast } from "@/ui/toast";

import { startErrors } from "./edit";
import { BookingFields, NotesField } from "./fields";

/** Creates a reservation. Times are in the store's time zone. */
export function ReserveDialog({
  day,
  onClose,
  onReserved,
}: {
  day: string;
  onClose: () => void;
  onReserved: (day: string) => void;
}) {
  const { timezone, country, atLeast } = useSession();
  const invalidate = useInvalidate();
  const toast = useToast();
  const [idempotencyKey] = useState(newIdempotencyKey);
  const [customerId, setCustomerId] = useState<string>();
  const [phone, setPhone] = useState("");
  const reserve = useMutation({
    mutationFn: (body: components["schemas"]["CreateReservationRequest"]) =>
      data(api.POST("/reservations", { params: { header: { "Idempotency-Key": idempotencyKey } }, body })),
    onSuccess: (made) => {
      toast(`Reservation for ${made.customer.name} created`);
      onReserved(dayOf(Date.parse(made.startAt), timezone));
      onClose();
    },
    onSettled: () => invalidate("reservations"),
  });
  function submit(form: FormData) {
    const text = (name: string) => String(form.get(name) ?? "").trim();
    reserve.mutate({
      ...(customerId
        ? { customerId }
        : {
            customer: {
              name: text("name"),
              phone: internationalPhone(phone, country) || undefined,
              email: text("email") || undefined,
            },
          }),
      partySize: Number(text("partySize")),
      startAt: instantOf(text("day"), text("time"), timezone),
      durationMinutes: text("minutes") ? Number(text("minutes")) : undefined,
      tableLabel: text("tableLabel") || undefined,
      notes: text("notes") || undefined,
    });
  }
  const fieldError = startErrors(reserve.error);
  return (
    <FormDialog
      onClose={onClose}
      title="Add reservation"
      description={`Times are in the time zone ${timezone}.`}
      mutation={reserve}
      onSubmit={submit}
      submitLabel="Add"
      className="sm:grid-cols-2"
    >
      <BookingFields initial={{ day, time: "19:00", partySize: 2 }} timezone={timezone} fieldError={fieldError} />
      {atLeast("MANAGER") && (
        <CustomerPicker
          className="sm:col-span-2"
          picked={customerId}
          onPick={(customer) => setCustomerId(customer?.id)}
        />
      )}
      {!customerId && (
        <>
          <TextField
            label="Name"
            name="name"
            {...limits.GuestRequest.name}
            autoComplete="off"
            className="sm:col-span-2"
            error={fieldError("customer.name")}
          />
          <PhoneField value={phone} onValue={setPhone} error={fieldError("customer.phone")} />
          <TextField
            label="Email"
            name="email"
            type="email"
            {...limits.GuestRequest.email}
            autoComplete="off"
            error={fieldError("customer.email")}
          />
        </>
      )}
      <NotesField error={fieldError("notes")} />
    </FormDialog>
  );
}
