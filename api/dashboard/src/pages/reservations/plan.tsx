import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type KeyboardEvent, type PointerEvent, useRef, useState } from "react";

import { api, data, ifMatch } from "@/api/client";
import { errorMessage } from "@/api/error-message";
import { useInvalidate, queries } from "@/api/queries";
import { type Reservation, holdsSeats, statuses } from "@/domain/reservations";
import { useSession } from "@/session/session";
import { cn } from "@/ui/cn";
import { Card } from "@/ui/page";
import { useToast } from "@/ui/toast";

import { type Period, barOf, hoursOf, movedTo, periodOf, step } from "./plan-time";

/** The time of a reservation before a drag, and the pointer's position at its begin. */
type Drag = { id: string; start: number; x: number };

/**
 * The reservations of a day along its hours. The user moves a reservation with the pointer, or with the arrow keys and
 * Enter. A refused move returns to its place.
 */
export function Plan({ day, reservations }: { day: string; reservations: Reservation[] }) {
  const { timezone, locale } = useSession();
  const shown = reservations.filter(holdsSeats);
  const period = periodOf(day, timezone, shown);
  const hours = hoursOf(period);
  const hour = new Intl.DateTimeFormat(locale, { hour: "numeric", timeZone: timezone });
  if (shown.length === 0) return null;
  return (
    <Card title="Day plan">
      <p id="plan-help" className="mb-2 text-xs text-muted-foreground">
        Drag a reservation to another time, or select it, press the arrow keys and then Enter. Escape returns it.
      </p>
      <div className="overflow-x-auto pb-2" role="region" aria-label="Day plan" tabIndex={0}>
        <div className="min-w-3xl">
          <div className="relative ml-28 h-5 text-xs text-muted-foreground" aria-hidden>
            {hours
              .filter((_, i) => i % Math.ceil(hours.length / 12) === 0)
              .map((at) => (
                <span
                  key={at}
                  className="absolute -translate-x-1/2 whitespace-nowrap tabular-nums"
                  style={{ left: percent(barOf(period, { from: at, to: at }).left) }}
                >
                  {hour.format(at)}
                </span>
              ))}
          </div>
          <ul className="grid gap-1">
            {shown.map((one) => (
              <Row key={one.id} day={day} period={period} reservation={one} />
            ))}
          </ul>
        </div>
      </div>
    </Card>
  );
}

const percent = (share: number) => `${share * 100}%`;

function useClockTime() {
  const { locale, timezone } = useSession();
  return (at: number) => new Intl.DateTimeFormat(locale, { timeStyle: "short", timeZone: timezone }).format(at);
}

/** Returns a mutation that changes the start of a reservation. */
function useMove(day: string) {
  const client = useQueryClient();
  const invalidate = useInvalidate();
  const toast = useToast();
  const clock = useClockTime();
  return useMutation({
    mutationFn: ({ reservation, start }: { reservation: Reservation; start: number }) =>
      data(
        api.PATCH("/reservations/{id}", {
          params: { path: { id: reservation.id }, header: ifMatch(reservation) },
          body: { startAt: new Date(start).toISOString() },
        }),
      ),
    onSuccess: (changed) => {
      client.setQueryData(queries.reservations.day(day).queryKey, (all) =>
        all
          ?.map((one) => (one.id === changed.id ? changed : one))
          .sort((a, b) => a.startAt.localeCompare(b.startAt) || a.id.localeCompare(b.id)),
      );
      toast(`${changed.customer.name} moved to ${clock(Date.parse(changed.startAt))}`);
    },
    onError: (error, { reservation }) =>
      toast(`${reservation.customer.name} was not moved. ${errorMessage(error)}`, { error: true }),
    onSettled: () => invalidate("reservations"),
  });
}

function Row({ day, period, reservation }: { day: string; period: Period; reservation: Reservation }) {
  const clock = useClockTime();
  const move = useMove(day);
  const drag = useRef<Drag>(null);
  const [moved, setMoved] = useState<number>();
  const begin = Date.parse(reservation.startAt);
  const length = Date.parse(reservation.endAt) - begin;
  const start = moved ?? (move.isPending ? move.variables.start : begin);
  const { left, width } = barOf(period, { from: start, to: start + length });
  // A reservation that began on the previous day cannot move within this one.
  const movable = begin >= period.from && !move.isPending;
  const text = `${clock(start)} – ${clock(start + length)}`;

  const reset = () => {
    drag.current = null;
    setMoved(undefined);
  };
  function commit() {
    drag.current = null;
    if (moved !== undefined && moved !== begin) move.mutate({ reservation, start: moved });
    setMoved(undefined);
  }
  function onPointerDown(event: PointerEvent<HTMLDivElement>) {
    if (!movable || event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    drag.current = { id: reservation.id, start, x: event.clientX };
  }
  function onPointerMove(event: PointerEvent<HTMLDivElement>) {
    if (!drag.current) return;
    const pixels = event.currentTarget.parentElement!.clientWidth;
    const by = ((event.clientX - drag.current.x) / pixels) * (period.to - period.from);
    if (moved !== undefined || Math.abs(event.clientX - drag.current.x) > 3)
      setMoved(movedTo(period, drag.current.start, by));
  }
  function onKeyDown(event: KeyboardEvent) {
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -4, PageUp: 4 }[event.key];
    if (event.key === "Escape") reset();
    else if (event.key === "Enter") commit();
    else if (steps !== undefined && movable) setMoved(movedTo(period, start, steps * step));
    else return;
    event.preventDefault();
  }
  return (
    <li className="flex items-center">
      <span className="w-28 shrink-0 truncate pr-2 text-sm" title={reservation.customer.name}>
        {reservation.customer.name}
      </span>
      <div className="relative h-11 flex-1 rounded bg-muted">
        <div
          role="slider"
          tabIndex={0}
          aria-label={`Time of ${reservation.customer.name}`}
          aria-describedby="plan-help"
          aria-valuemin={0}
          aria-valuemax={Math.round((period.to - period.from) / step)}
          aria-valuenow={Math.round((start - period.from) / step)}
          aria-valuetext={text}
          aria-disabled={!movable || undefined}
          aria-busy={move.isPending || undefined}
          onPointerDown={onPointerDown}
          onPointerMove={onPointerMove}
          onPointerUp={() => drag.current && commit()}
          onPointerCancel={reset}
          onKeyDown={onKeyDown}
          onBlur={() => drag.current || reset()}
          className={cn(
            "absolute inset-y-0 touch-none rounded border bg-surface select-none",
            movable ? "cursor-grab active:cursor-grabbing" : "opacity-70",
            reservation.status === "CONFIRMED" ? "border-success" : "border-dashed border-primary",
            moved !== undefined && "z-10 shadow-lg ring-2 ring-primary",
          )}
          style={{ left: percent(left), width: percent(width) }}
        >
          {/* Beside the bar, because the bar of a short reservation has no room for it. */}
          <span
            className={cn(
              "pointer-events-none absolute inset-y-0 flex items-center gap-1 px-2",
              "text-xs whitespace-nowrap tabular-nums",
              left + width > 0.6 ? "right-full" : "left-full",
            )}
          >
            <span className="font-semibold">{text}</span> · {reservation.partySize}
            {reservation.tableLabel && ` · ${reservation.tableLabel}`}
            <span className="sr-only"> {statuses[reservation.status].label}</span>
          </span>
        </div>
      </div>
    </li>
  );
}
