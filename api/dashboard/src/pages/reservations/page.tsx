import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import { ChevronLeft, ChevronRight, Plus } from "lucide-react";
import { useEffect, useState } from "react";

import { api, data } from "@/api/client";
import { wordsOf } from "@/api/words";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { FormDialog } from "@/ui/dialog";
import { Field, Input, Textarea } from "@/ui/field";
import { everyPage } from "@/ui/more";
import { Badge, Card, Empty, Failure, PageHeader, QueryState } from "@/ui/page";
import { useToast } from "@/ui/toast";
import { addDays, dayOf } from "@/ui/zone";

import { type Reservation, type Status, around, holdsSeats, statuses } from "./day";
import { ReserveDialog } from "./form";
import { Seats } from "./seats";

const route = getRouteApi("/inside/reservations");

/** All reservations of a day, in their order; of those that began the day before, whoever still has seats. */
async function reservationsOf(day: string, signal: AbortSignal) {
  const all = await everyPage<Reservation>((cursor) => api.GET("/reservations", { params: { query: { overlapsDate: day, cursor, limit: 100 } }, signal }));
  return all.filter((one) => holdsSeats(one) || !around(one, day).before);
}

export function ReservationsPage() {
  const { timezone, locale } = useSession();
  const navigate = useNavigate();
  const today = dayOf(Date.now(), timezone);
  const { day = today } = route.useSearch();
  const reservations = useQuery({
    queryKey: ["reservations", day],
    queryFn: ({ signal }) => reservationsOf(day, signal),
    refetchInterval: 30_000,
  });
  const seats = useQuery({
    queryKey: ["reservations", day, "seats"],
    queryFn: () => data(api.GET("/reservations/seats", { params: { query: { date: day } } })),
    refetchInterval: 30_000,
  });
  const [taking, setTaking] = useState(false);
  const [cancelling, setCancelling] = useState<Reservation | null>(null);
  const show = (next: string) => void navigate({ to: "/reservations", search: next === today ? {} : { day: next } });
  const heading = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeZone: "UTC" }).format(new Date(`${day}T00:00:00Z`));
  const guests = (reservations.data ?? []).filter(holdsSeats).reduce((sum, one) => sum + one.partySize, 0);
  const take = (
    <Button onClick={() => setTaking(true)}>
      <Plus aria-hidden /> Take a reservation
    </Button>
  );
  return (
    <>
      <PageHeader title="Reservations" about={heading} actions={take} />
      <div className="mb-4 flex flex-wrap items-center gap-2">
        <Button variant="outline" size="icon" aria-label="The day before" onClick={() => show(addDays(day, -1))}>
          <ChevronLeft />
        </Button>
        <Input type="date" aria-label="Day" className="w-40" value={day} onChange={(event) => event.target.value && show(event.target.value)} />
        <Button variant="outline" size="icon" aria-label="The day after" onClick={() => show(addDays(day, 1))}>
          <ChevronRight />
        </Button>
        {day !== today && (
          <Button variant="ghost" onClick={() => show(today)}>
            Today
          </Button>
        )}
      </div>
      <QueryState of={reservations} className="mb-4" />
      {reservations.data?.length === 0 && (
        <Empty title="Nobody has reserved for this day">
          <p>Reservations come from your shop through the API, or by hand.</p>
          {take}
        </Empty>
      )}
      {reservations.data && reservations.data.length > 0 && (
        <div className="grid gap-4">
          <Card
            title="Seats"
            actions={
              seats.data && (
                <span className="text-sm">
                  {guests === 1 ? "1 guest" : `${guests} guests`}, at most <strong className="tabular-nums">{seats.data.peak}</strong> at once on{" "}
                  {seats.data.seats === 1 ? "1 seat" : `${seats.data.seats} seats`}
                </span>
              )
            }
          >
            <Failure error={seats.error} retry={() => void seats.refetch()} />
            {seats.data && <Seats of={seats.data} />}
          </Card>
          <ul className="grid gap-2">
            {reservations.data.map((one) => (
              <Line key={one.id} reservation={one} day={day} onCancel={() => setCancelling(one)} />
            ))}
          </ul>
        </div>
      )}
      {taking && <ReserveDialog day={day < today ? today : day} onClose={() => setTaking(false)} onReserved={show} />}
      {cancelling && <CancelDialog reservation={cancelling} onClose={() => setCancelling(null)} />}
    </>
  );
}

/** Takes reservations to other statuses. */
function useChange(onDone?: () => void) {
  const queries = useQueryClient();
  const toast = useToast();
  return useMutation({
    mutationFn: ({ reservation, status, cancellationReason }: { reservation: Reservation; status: Status; cancellationReason?: string }) =>
      data(
        api.PATCH("/reservations/{id}/status", {
          params: { path: { id: reservation.id }, header: { "If-Match": `"${reservation.version}"` } },
          body: { status, cancellationReason },
        }),
      ),
    onSuccess: (changed) => {
      toast(`${changed.customer.name}: ${statuses[changed.status].label.toLowerCase()}`);
      onDone?.();
    },
    onError: (error) => toast(wordsOf(error), { bad: true }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["reservations"] }),
  });
}

function Line({ reservation: one, day, onCancel }: { reservation: Reservation; day: string; onCancel: () => void }) {
  const { locale, atLeast } = useSession();
  const change = useChange();
  const now = useMinute();
  const clock = (at: string) => new Intl.DateTimeFormat(locale, { timeStyle: "short", timeZone: one.timezone }).format(new Date(at));
  const { label, tone } = statuses[one.status];
  const { before, after } = around(one, day);
  // Who has not come yet can neither have come nor stayed away.
  const steps = one.allowedTransitions.filter((status) => status === "CONFIRMED" || Date.parse(one.startAt) <= now);
  return (
    <li className="grid items-start gap-3 rounded-lg border bg-surface p-3 text-sm sm:grid-cols-[8rem_4rem_1fr_auto]">
      <span className="font-semibold whitespace-nowrap tabular-nums" title={`${one.startAt} – ${one.endAt} (UTC)`}>
        {clock(one.startAt)} – {clock(one.endAt)}
        {(before || after) && <span className="block text-xs font-normal text-muted-foreground">{before ? "since the day before" : "until the day after"}</span>}
      </span>
      <span className="tabular-nums">{one.partySize === 1 ? "1 seat" : `${one.partySize} seats`}</span>
      <div className="min-w-0">
        <span className="flex flex-wrap items-center gap-2 font-medium break-words">
          {one.customer.id && atLeast("MANAGER") ? (
            <Link to="/customers/$id" params={{ id: one.customer.id }} className="text-primary underline-offset-4 hover:underline">
              {one.customer.name}
            </Link>
          ) : (
            one.customer.name
          )}
          <Badge tone={tone}>{label}</Badge>
        </span>
        <span className="block text-xs break-words text-muted-foreground">{[one.customer.phone, one.customer.email].filter(Boolean).join(" · ")}</span>
        {one.notes && <p className="mt-1 text-xs break-words whitespace-pre-wrap">{one.notes}</p>}
        {one.cancellationReason && <p className="mt-1 text-xs break-words text-muted-foreground">{one.cancellationReason}</p>}
      </div>
      <div className="flex flex-wrap justify-end gap-2">
        {steps
          .filter((status) => status !== "CANCELLED")
          .map((status, i) => (
            <Button
              key={status}
              size="small"
              variant={i === 0 ? "primary" : "outline"}
              busy={change.isPending}
              aria-label={`${statuses[status].deed}: ${one.customer.name}`}
              onClick={() => change.mutate({ reservation: one, status })}
            >
              {statuses[status].deed}
            </Button>
          ))}
        {one.allowedTransitions.includes("CANCELLED") && (
          <Button size="small" variant="danger" aria-label={`Cancel: ${one.customer.name}`} onClick={onCancel}>
            Cancel
          </Button>
        )}
      </div>
    </li>
  );
}

function useMinute() {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 60_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

function CancelDialog({ reservation, onClose }: { reservation: Reservation; onClose: () => void }) {
  const change = useChange(onClose);
  return (
    <FormDialog
      danger
      onClose={onClose}
      title={`Cancel the reservation of ${reservation.customer.name}?`}
      description="Its seats are free again at once."
      doing={change}
      onSubmit={(form) => change.mutate({ reservation, status: "CANCELLED", cancellationReason: String(form.get("reason")).trim() || undefined })}
      deed="Cancel the reservation"
      keep="Keep it"
    >
      <Field label="Reason" hint="Optional. The guest and connected systems can see it.">
        {(ids) => <Textarea {...ids} name="reason" maxLength={500} />}
      </Field>
    </FormDialog>
  );
}
