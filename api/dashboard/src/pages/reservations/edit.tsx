import { type components, ComandaError } from "@comanda/client";
import { useMutation } from "@tanstack/react-query";

import { api, data, fieldErrors, ifMatch } from "@/api/client";
import { useInvalidate } from "@/api/queries";
import type { Reservation } from "@/domain/reservations";
import { dayOf, instantOf, timeOf } from "@/domain/zone";
import { FormDialog } from "@/ui/dialog";
import { useToast } from "@/ui/toast";

import { BookingFields, NotesField } from "./fields";

type Change = components["schemas"]["ChangeReservationRequest"];

type Props = { reservation: Reservation; onClose: () => void; onChanged: (day: string) => void };

/** Changes the time, the party, the table and the notes of a reservation. */
export function EditDialog({ reservation, onClose, onChanged }: Props) {
  const invalidate = useInvalidate();
  const toast = useToast();
  const { timezone } = reservation;
  const start = Date.parse(reservation.startAt);
  const [day, time] = [dayOf(start, timezone), timeOf(start, timezone)];
  const save = useMutation({
    mutationFn: (body: Change) =>
      data(
        api.PATCH("/reservations/{id}", {
          params: { path: { id: reservation.id }, header: ifMatch(reservation) },
          body,
        }),
      ),
    onSuccess: (changed) => {
      toast(`Reservation for ${changed.customer.name} saved`);
      onChanged(dayOf(Date.parse(changed.startAt), timezone));
      onClose();
    },
    onSettled: () => invalidate("reservations"),
  });
  function submit(form: FormData) {
    const text = (name: string) => String(form.get(name) ?? "").trim();
    const change: Change = {};
    // An unchanged time is not sent: that of a reservation that has begun can no longer be booked.
    if (text("day") !== day || text("time") !== time) change.startAt = instantOf(text("day"), text("time"), timezone);
    if (Number(text("partySize")) !== reservation.partySize) change.partySize = Number(text("partySize"));
    if (Number(text("minutes")) !== reservation.durationMinutes) change.durationMinutes = Number(text("minutes"));
    if (text("tableLabel") !== reservation.tableLabel) change.tableLabel = text("tableLabel") || null;
    if (text("notes") !== reservation.notes) change.notes = text("notes") || null;
    save.mutate(change);
  }
  const fieldError = startErrors(save.error);
  return (
    <FormDialog
      onClose={onClose}
      title={`Edit the reservation for ${reservation.customer.name}`}
      description={`Times are in the time zone ${timezone}.`}
      mutation={save}
      onSubmit={submit}
      submitLabel="Save"
      className="sm:grid-cols-2"
    >
      <BookingFields
        initial={{
          day,
          time,
          partySize: reservation.partySize,
          minutes: reservation.durationMinutes,
          tableLabel: reservation.tableLabel,
        }}
        reservation={reservation}
        timezone={timezone}
        fieldError={fieldError}
      />
      <NotesField initial={reservation.notes} error={fieldError("notes")} />
    </FormDialog>
  );
}

/** Returns the error messages of fields, except that of a time that cannot be booked, which the dialog explains. */
export const startErrors = (error: unknown) =>
  error instanceof ComandaError && error.code === "OUTSIDE_BOOKING_WINDOW" ? () => undefined : fieldErrors(error);
