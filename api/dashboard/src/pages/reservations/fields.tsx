import { useState } from "react";

import * as limits from "@/api/limits";
import type { Reservation } from "@/domain/reservations";
import { Field, TextField, Textarea } from "@/ui/field";

import { FreeTimes } from "./free-times";

type Props = {
  initial: { day: string; time: string; partySize: number; minutes?: number; tableLabel?: string; notes?: string };
  /** The reservation that is changed. */
  reservation?: Reservation;
  timezone: string;
  fieldError: (path: string) => string | undefined;
};

/** The fields for time, party and table of a reservation, for a form with two columns. */
export function BookingFields({ initial, reservation, timezone, fieldError }: Props) {
  const [day, setDay] = useState(initial.day);
  const [time, setTime] = useState(initial.time);
  const [partySize, setPartySize] = useState(String(initial.partySize));
  const [minutes, setMinutes] = useState(String(initial.minutes ?? ""));
  return (
    <>
      <TextField
        label="Day"
        name="day"
        type="date"
        required
        value={day}
        onChange={(event) => setDay(event.target.value)}
        error={fieldError("startAt")}
      />
      <TextField
        label="Guests"
        name="partySize"
        type="number"
        {...limits.CreateReservationRequest.partySize}
        value={partySize}
        onChange={(event) => setPartySize(event.target.value)}
        error={fieldError("partySize")}
      />
      <TextField
        label="Time"
        name="time"
        type="time"
        required
        value={time}
        onChange={(event) => setTime(event.target.value)}
      />
      <TextField
        label="Duration in minutes"
        name="minutes"
        type="number"
        {...limits.CreateReservationRequest.durationMinutes}
        placeholder="default"
        required={initial.minutes !== undefined}
        value={minutes}
        onChange={(event) => setMinutes(event.target.value)}
        error={fieldError("durationMinutes")}
      />
      <FreeTimes {...{ day, time, partySize, minutes, reservation, timezone }} onPick={setTime} />
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
}

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
