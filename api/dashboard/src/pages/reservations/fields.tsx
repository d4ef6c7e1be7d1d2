import * as limits from "@/api/limits";
import { Field, TextField, Textarea } from "@/ui/field";

type Props = {
  initial: { day: string; time: string; partySize: number; minutes?: number; tableLabel?: string; notes?: string };
  fieldError: (path: string) => string | undefined;
};

/** The fields for time, party and table of a reservation, for a form with two columns. */
export const BookingFields = ({ initial, fieldError }: Props) => (
  <>
    <TextField label="Day" name="day" type="date" required defaultValue={initial.day} error={fieldError("startAt")} />
    <TextField label="Time" name="time" type="time" required defaultValue={initial.time} />
    <TextField
      label="Guests"
      name="partySize"
      type="number"
      {...limits.CreateReservationRequest.partySize}
      defaultValue={initial.partySize}
      error={fieldError("partySize")}
    />
    <TextField
      label="Duration in minutes"
      name="minutes"
      type="number"
      {...limits.CreateReservationRequest.durationMinutes}
      placeholder="default"
      required={initial.minutes !== undefined}
      defaultValue={initial.minutes}
      error={fieldError("durationMinutes")}
    />
    <TextField
      label="Table"
      name="tableLabel"
      {...limits.CreateReservationRequest.tableLabel}
      placeholder="Terrace 4"
      autoComplete="off"
      className="sm:col-span-2"
      defaultValue={initial.tableLabel}
      error={fieldError("tableLabel")}
    />
  </>
);

/** The field for the notes of a reservation, over both columns. */
export const NotesField = ({ initial, error }: { initial?: string; error?: string }) => (
  <Field label="Notes" className="sm:col-span-2" error={error}>
    {(ids) => (
      <Textarea
        {...ids}
        name="notes"
        {...limits.CreateReservationRequest.notes}
        placeholder="A high chair, please."
        defaultValue={initial}
      />
    )}
  </Field>
);
