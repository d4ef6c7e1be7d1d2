import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight, X } from "lucide-react";
import type { ReactNode } from "react";

import { api } from "@/api/client";
import { Button } from "@/ui/button";
import { Countdown, formatMs } from "@/ui/duration";
import { Field, Form, Input, SelectField } from "@/ui/field";
import { Time } from "@/ui/format";
import { Card, Columns, Empty, QueryState, Table } from "@/ui/page";

import { type AttemptStatus, type AnyEventType, webhooksKey } from "./data";
import { attemptStatuses } from "./names";
import type { WebhookSearch } from "./search";
import { useShown } from "./show";
import { StatusBadge } from "./status";

const limit = 20;

/** The attempts of a webhook, filtered and in pages. */
export function Attempts({ eventTypes, onTest }: { eventTypes: AnyEventType[]; onTest: () => void }) {
  const { id, search, show } = useShown();
  const { status, eventType, eventId, from, to, page = 1 } = search;
  const attempts = useQuery({
    queryKey: [...webhooksKey, id, "attempts", { status, eventType, eventId, from, to, page }],
    queryFn: async () =>
      (await api.GET("/webhooks/{id}/deliveries", { params: { path: { id }, query: { status, eventType: eventType as AnyEventType, eventId, from, to, page, limit } } })).data!,
    placeholderData: keepPreviousData,
    refetchInterval: page === 1 ? 5_000 : false,
  });
  const narrow = (change: WebhookSearch) => show({ page: undefined, ...change }, { replace: true });
  const filtered = Boolean(status ?? eventType ?? eventId ?? from ?? to);
  const rows = attempts.data?.data ?? [];
  return (
    <Card title="Attempts">
      <div className="mb-4 flex flex-wrap items-end gap-3">
        <SelectField label="Outcome" className="w-36" value={status ?? ""} onChange={(event) => narrow({ status: (event.target.value as AttemptStatus) || undefined })}>
          <option value="">Any</option>
          {Object.entries(attemptStatuses).map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </SelectField>
        <SelectField label="Event" className="w-52" value={eventType ?? ""} onChange={(event) => narrow({ eventType: event.target.value || undefined })}>
          <option value="">Any</option>
          {eventTypes.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </SelectField>
        <Form onSubmit={(form) => narrow({ eventId: String(form.get("eventId")).trim() || undefined })} className="flex items-end gap-2">
          <Field label="Event id" className="w-44">
            {(ids) => <Input {...ids} key={eventId} name="eventId" defaultValue={eventId} placeholder="evt_…" pattern="[\w\-]+" maxLength={64} title="The id of an event, such as evt_01j…" />}
          </Field>
          <Button variant="outline" type="submit">
            Find
          </Button>
        </Form>
        {(from ?? to) && (
          <Chip onRemove={() => narrow({ from: undefined, to: undefined })}>
            <Time at={from} /> – <Time at={to} />
          </Chip>
        )}
        {filtered && (
          <Button variant="ghost" onClick={() => narrow({ status: undefined, eventType: undefined, eventId: undefined, from: undefined, to: undefined })}>
            Clear
          </Button>
        )}
      </div>
      <QueryState of={attempts} />
      {attempts.data?.meta.total === 0 &&
        (filtered ? (
          <Empty title="No attempt is like that" />
        ) : (
          <Empty title="Nothing has been sent here yet">
            <p>An attempt appears with the next event that this webhook asks for. A test shows at once whether your server can be reached and knows the secret.</p>
            <Button onClick={onTest}>Send a test</Button>
          </Empty>
        ))}
      {rows.length > 0 && (
        <Table label="Attempts">
          <Columns names={["Time", "Event", "Outcome", "Answer", { right: "Took" }, { right: "No." }]} />
          <tbody>
            {rows.map((attempt) => (
              <tr key={attempt.id} className="hover:bg-muted/50">
                <td>
                  <button
                    type="button"
                    className="text-primary underline-offset-4 hover:underline"
                    onClick={() => show({ attempt: attempt.id })}
                  >
                    <Time at={attempt.deliveredAt} seconds />
                  </button>
                </td>
                <td>
                  <code className="text-xs">{attempt.eventType}</code>
                </td>
                <td>
                  <StatusBadge status={attempt.status} />
                  {attempt.nextRetryAt && (
                    <span className="block pt-0.5 text-xs text-muted-foreground">
                      next <Countdown to={attempt.nextRetryAt} />
                    </span>
                  )}
                </td>
                <td className="max-w-72 truncate" title={attempt.error}>
                  {attempt.error || attempt.statusCode || "–"}
                </td>
                <td className="text-right whitespace-nowrap tabular-nums">{formatMs(attempt.responseTimeMs)}</td>
                <td className="text-right tabular-nums">{attempt.deliveryId ? attempt.attemptNumber : <span className="text-muted-foreground">test</span>}</td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      {attempts.data && attempts.data.meta.total > 0 && (
        <Pages {...attempts.data.meta} onPage={(next) => show({ page: next > 1 ? next : undefined })} />
      )}
    </Card>
  );
}

const Chip = ({ onRemove, children }: { onRemove: () => void; children: ReactNode }) => (
  <span className="flex h-9 items-center gap-2 rounded-md border pl-3 text-sm">
    <span>{children}</span>
    <Button variant="ghost" size="icon" className="size-8" aria-label="At any time" onClick={onRemove}>
      <X />
    </Button>
  </span>
);

type PagesProps = { total: number; page: number; limit: number; totalPages: number; onPage: (page: number) => void };

function Pages({ total, page, limit, totalPages, onPage }: PagesProps) {
  const first = Math.min((page - 1) * limit + 1, total);
  return (
    <nav aria-label="Pages of attempts" className="mt-3 flex flex-wrap items-center justify-between gap-2 text-sm">
      <span className="text-muted-foreground" role="status">
        {page > totalPages ? `There is no page ${page}` : `${first.toLocaleString("en")}–${Math.min(page * limit, total).toLocaleString("en")} of ${total.toLocaleString("en")}`}
      </span>
      <span className="flex items-center gap-2">
        <Button variant="outline" size="small" disabled={page <= 1} onClick={() => onPage(Math.min(page - 1, totalPages))}>
          <ChevronLeft aria-hidden /> Newer
        </Button>
        <Form onSubmit={(form) => onPage(Number(form.get("page")))} className="flex items-center gap-1.5">
          <Input key={page} type="number" name="page" aria-label="Page" required min={1} max={totalPages} defaultValue={page} className="h-8 w-20 text-right tabular-nums" />
          <span className="whitespace-nowrap">of {totalPages.toLocaleString("en")}</span>
        </Form>
        <Button variant="outline" size="small" disabled={page >= totalPages} onClick={() => onPage(page + 1)}>
          Older <ChevronRight aria-hidden />
        </Button>
      </span>
    </nav>
  );
}
