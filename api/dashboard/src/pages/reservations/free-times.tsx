import { useQuery } from "@tanstack/react-query";

import * as limits from "@/api/limits";
import { queries } from "@/api/queries";
import { type Reservation, closestTimes } from "@/domain/reservations";
import { dayOf } from "@/domain/zone";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { Failure } from "@/ui/page";

/** How many free times are offered. */
const offered = 8;

/** Two rows of times. What is below does not move while the times are read, so that no click misses its button. */
const place = "min-h-24 sm:col-span-2";

const within = ({ min, max }: { min?: number; max?: number }, value: number) =>
  Number.isInteger(value) && value >= (min ?? 0) && value <= (max ?? Infinity);

/** Reports whether a time is one of those that are listed. Another one may be free or not. */
const isQuarter = (time: string) => Number(time.slice(3)) % 15 === 0;

type Props = {
  day: string;
  time: string;
  partySize: string;
  minutes: string;
  /** The reservation that is changed: its own seats are free for it, and its time is, unless it grows. */
  reservation?: Reservation;
  timezone: string;
  onPick: (time: string) => void;
};

/** The free times of a day that are closest to a time. The party can come at another time, too. */
export function FreeTimes({ day, time, partySize, minutes, reservation, timezone, onPick }: Props) {
  const { partySize: guests, durationMinutes } = limits.CreateReservationRequest;
  const asked = within(guests, Number(partySize)) && (minutes === "" || within(durationMinutes, Number(minutes)));
  const slots = useQuery({
    ...queries.reservations.slots({
      date: day,
      partySize: Number(partySize),
      durationMinutes: minutes === "" ? undefined : Number(minutes),
      exceptReservationId: reservation?.id,
    }),
    enabled: asked && day !== "" && time !== "",
  });
  if (slots.error) return <Failure error={slots.error} retry={() => void slots.refetch()} />;
  if (!slots.data) return <div className={place} />;
  const held =
    reservation &&
    day === dayOf(Date.parse(reservation.startAt), timezone) &&
    Number(partySize) <= reservation.partySize &&
    Number(minutes) <= reservation.durationMinutes;
  const times = closestTimes(held ? [...slots.data, reservation] : slots.data, time, timezone, offered);
  const free = times.includes(time);
  return (
    <div
      role="group"
      aria-label="Free times"
      className={cn("grid content-start gap-1.5", place)}
      aria-busy={slots.isFetching}
    >
      <p className="text-xs text-muted-foreground" aria-live="polite">
        {times.length === 0
          ? "No free times on this day for these guests."
          : free
            ? "Free times:"
            : isQuarter(time)
              ? `${time} is not a free time. The closest ones:`
              : `The free quarter hours closest to ${time}:`}
      </p>
      <div className="flex flex-wrap gap-2">
        {times.map((one) => (
          <Button
            key={one}
            size="small"
            variant={one === time ? "primary" : "outline"}
            aria-pressed={one === time}
            className="tabular-nums"
            onClick={() => onPick(one)}
          >
            {one}
          </Button>
        ))}
      </div>
    </div>
  );
}
