import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import { ChevronLeft, ChevronRight, Plus } from "lucide-react";
import { useRef, useState } from "react";

import { api, data, ifMatch } from "@/api/client";
import * as limits from "@/api/limits";
import { useInvalidate, queries } from "@/api/queries";
import {
  type Reservation,
  type Status,
  extendsBeyond,
  guestOf,
  holdsGuest,
  holdsSeats,
  statuses,
} from "@/domain/reservations";
import { addDays, dayOf } from "@/domain/zone";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { FormDialog } from "@/ui/dialog";
import { Field, Input, Textarea } from "@/ui/field";
import { link } from "@/ui/link";
import { useNow } from "@/ui/now";
import { Badge, Card, Empty, Failure, PageHeader, QueryState } from "@/ui/page";
import { useToast, useErrorToast } from "@/ui/toast";

import { EditDialog } from "./edit";
import { EraseDialog } from "./erase";
import { ReserveDialog } from "./form";
import { Plan } from "./plan";
import { Seats } from "./seats";
import { WalkIns } from "./walk-in";

const route = getRouteApi("/inside/reservations");

export function ReservationsPage() {
  const { timezone, locale } = useSession();
  const navigate = useNavigate();
  const today = dayOf(useNow(60_000), timezone);
  const { day = today } = route.useSearch();
  const reservations = useQuery(queries.reservations.day(day));
  const seats = useQuery(queries.reservations.seats(day));
  const [adding, setAdding] = useState(false);
  const [editing, setEditing] = useState<Reservation | null>(null);
  const [cancelling, setCancelling] = useState<Reservation | null>(null);
  const [erasing, setErasing] = useState<Reservation | null>(null);
  const show = (next: string) => void navigate({ to: "/reservations", search: next === today ? {} : { day: next } });
  const heading = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeZone: "UTC" }).format(
    new Date(`${day}T00:00:00Z`),
  );
  const guests = (reservations.data ?? []).filter(holdsSeats).reduce((sum, one) => sum + one.partySize, 0);
  const add = (
    <Button onClick={() => setAdding(true)}>
      <Plus aria-hidden /> Add reservation
    </Button>
  );
  return (
    <>
      <PageHeader title="Reservations" about={heading} actions={add} />
      <div className="mb-4 flex flex-wrap items-center gap-2">
        <Button variant="outline" size="icon" aria-label="Previous day" onClick={() => show(addDays(day, -1))}>
          <ChevronLeft />
        </Button>
        <Input
          type="date"
          aria-label="Day"
          className="w-40"
          value={day}
          onChange={(event) => event.target.value && show(event.target.value)}
        />
        <Button variant="outline" size="icon" aria-label="Next day" onClick={() => show(addDays(day, 1))}>
          <ChevronRight />
        </Button>
        {day !== today && (
          <Button variant="ghost" onClick={() => show(today)}>
            Today
          </Button>
        )}
        {day === today && <WalkIns />}
      </div>
      <QueryState query={reservations} className="mb-4" />
      {reservations.data?.length === 0 && (
        <Empty title="No reservations for this day">
          <p>Reservations appear here when guests book through your shop or you add one.</p>
          {add}
        </Empty>
      )}
      {reservations.data && reservations.data.length > 0 && (
        <div className="grid gap-4 [&>*]:min-w-0">
          <Card
            title="Seats"
            actions={
              seats.data && (
                <span className="text-sm">
                  {guests === 1 ? "1 guest" : `${guests} guests`} · peak{" "}
                  <strong className="tabular-nums">{seats.data.peak}</strong> of{" "}
                  {seats.data.seats === 1 ? "1 seat" : `${seats.data.seats} seats`}
                </span>
              )
            }
          >
            <Failure error={seats.error} retry={() => void seats.refetch()} />
            {seats.data && <Seats day={seats.data} />}
          </Card>
          <Plan key={day} day={day} reservations={reservations.data} />
          <ul className="grid gap-2" aria-label="Reservations">
            {reservations.data.map((one) => (
              <Line
                key={one.id}
                reservation={one}
                day={day}
                onEdit={() => setEditing(one)}
                onCancel={() => setCancelling(one)}
                onErase={() => setErasing(one)}
              />
            ))}
          </ul>
        </div>
      )}
      {adding && <ReserveDialog day={day < today ? today : day} onClose={() => setAdding(false)} onReserved={show} />}
      {editing && <EditDialog reservation={editing} onClose={() => setEditing(null)} onChanged={show} />}
      {cancelling && <CancelDialog reservation={cancelling} onClose={() => setCancelling(null)} />}
      {erasing && <EraseDialog reservation={erasing} onClose={() => setErasing(null)} />}
    </>
  );
}

/**
 * Returns a mutation that changes the status of a reservation. It calls onDone when the page shows the change: the
 * buttons of steps that are no longer possible have disappeared, so that the focus does not return to them.
 */
function useChange(onDone: () => void) {
  const invalidate = useInvalidate();
  const toast = useToast();
  const showError = useErrorToast();
  return useMutation({
    mutationFn: ({
      reservation,
      status,
      cancellationReason,
    }: {
      reservation: Reservation;
      status: Status;
      cancellationReason?: string;
    }) =>
      data(
        api.PATCH("/reservations/{id}/status", {
          params: { path: { id: reservation.id }, header: ifMatch(reservation) },
          body: { status, cancellationReason },
        }),
      ),
    onSuccess: async (changed) => {
      toast(`${changed.customer.name}: ${statuses[changed.status].label.toLowerCase()}`);
      await invalidate("reservations");
      onDone();
    },
    onError: (error) => {
      showError(error);
      void invalidate("reservations");
    },
  });
}

type LineProps = {
  reservation: Reservation;
  day: string;
  onEdit: () => void;
  onCancel: () => void;
  onErase: () => void;
};

function Line({ reservation: one, day, onEdit, onCancel, onErase }: LineProps) {
  const { locale, atLeast } = useSession();
  const line = useRef<HTMLLIElement>(null);
  const change = useChange(() => {
    if (document.activeElement === document.body || line.current?.contains(document.activeElement))
      line.current?.focus();
  });
  const clock = (at: string) =>
    new Intl.DateTimeFormat(locale, { timeStyle: "short", timeZone: one.timezone }).format(new Date(at));
  const { label, tone } = statuses[one.status];
  const { before, after } = extendsBeyond(one, day);
  return (
    <li
      ref={line}
      tabIndex={-1}
      className="grid items-start gap-3 rounded-lg border bg-surface p-3 text-sm sm:grid-cols-[10rem_4.5rem_1fr_auto]"
    >
      <span className="font-semibold whitespace-nowrap tabular-nums" title={`${one.startAt} – ${one.endAt} (UTC)`}>
        {clock(one.startAt)} – {clock(one.endAt)}
        {(before || after) && (
          <span className="block text-xs font-normal text-muted-foreground">
            {before ? "from the previous day" : "until the next day"}
          </span>
        )}
      </span>
      <span className="tabular-nums">
        {one.partySize === 1 ? "1 seat" : `${one.partySize} seats`}
        {one.tableLabel && <span className="block text-xs break-words text-muted-foreground">{one.tableLabel}</span>}
      </span>
      <div className="min-w-0">
        <span className="flex flex-wrap items-center gap-2 font-medium break-words">
          {one.customer.id && atLeast("MANAGER") ? (
            <Link to="/customers/$id" params={{ id: one.customer.id }} className={link}>
              {guestOf(one)}
            </Link>
          ) : (
            guestOf(one)
          )}
          <Badge tone={tone}>{label}</Badge>
        </span>
        <span className="block text-xs break-words text-muted-foreground">
          {[one.customer.phone, one.customer.email].filter(Boolean).join(" · ")}
        </span>
        {one.notes && <p className="mt-1 text-xs break-words whitespace-pre-wrap">{one.notes}</p>}
        {one.cancellationReason && (
          <p className="mt-1 text-xs break-words text-muted-foreground">{one.cancellationReason}</p>
        )}
      </div>
      <div className="flex flex-wrap justify-end gap-2">
        {one.allowedTransitions
          .filter((status) => status !== "CANCELLED")
          .map((status, i) => (
            <Button
              key={status}
              size="small"
              variant={i === 0 ? "primary" : "outline"}
              busy={change.isPending}
              aria-label={`${statuses[status].action}: ${one.customer.name}`}
              onClick={() => change.mutate({ reservation: one, status })}
            >
              {statuses[status].action}
            </Button>
          ))}
        {holdsSeats(one) && (
          <Button size="small" variant="outline" aria-label={`Edit: ${one.customer.name}`} onClick={onEdit}>
            Edit
          </Button>
        )}
        {one.allowedTransitions.includes("CANCELLED") && (
          <Button size="small" variant="danger" aria-label={`Cancel: ${one.customer.name}`} onClick={onCancel}>
            Cancel
          </Button>
        )}
        {holdsGuest(one) && !holdsSeats(one) && atLeast("ADMIN") && (
          <Button size="small" variant="danger" aria-label={`Erase: ${one.customer.name}`} onClick={onErase}>
            Erase
          </Button>
        )}
      </div>
    </li>
  );
}

function CancelDialog({ reservation, onClose }: { reservation: Reservation; onClose: () => void }) {
  const change = useChange(onClose);
  return (
    <FormDialog
      danger
      onClose={onClose}
      title={`Cancel the reservation for ${reservation.customer.name}?`}
      description="You cannot undo this. The seats become free immediately."
      mutation={change}
      onSubmit={(form) =>
        change.mutate({
          reservation,
          status: "CANCELLED",
          cancellationReason: String(form.get("reason")).trim() || undefined,
        })
      }
      submitLabel="Cancel reservation"
      cancelLabel="Keep reservation"
    >
      <Field label="Reason" hint="Optional. Visible to the guest and to connected systems.">
        {(ids) => <Textarea {...ids} name="reason" {...limits.ChangeReservationStatusRequest.cancellationReason} />}
      </Field>
    </FormDialog>
  );
}
