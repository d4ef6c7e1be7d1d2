import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight, X } from "lucide-react";
import type { ReactNode } from "react";

import { queries } from "@/api/queries";
import type { AttemptStatus, AnyEventType } from "@/domain/webhooks";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { Countdown, formatMs } from "@/ui/duration";
import { Field, Form, Input, SelectField } from "@/ui/field";
import { Time } from "@/ui/format";
import { link } from "@/ui/link";
import { Card, Columns, Empty, QueryState, Table } from "@/ui/page";

import { useRetry } from "./delivery-actions";
import { byEvent } from "./groups";
import { attemptStatuses } from "./names";
import { OrderLink } from "./order-link";
import type { WebhookSearch } from "./search";
import { useWebhookSearch } from "./use-webhook-search";
import { StatusBadge } from "./status";

const limit = 20;

/** The attempts of a webhook, with filters and pages. */
export function Attempts({ eventTypes, onTest }: { eventTypes: AnyEventType[]; onTest: () => void }) {
  const { id, search, show } = useWebhookSearch();
  const { span: _, attempt: __, page = 1, ...filters } = search;
  const { status, eventType, eventId, from, to } = filters;
  const attempts = useQuery({
    ...queries.webhooks.attempts(id, { ...filters, eventType: filters.eventType as AnyEventType, page, limit }),
    placeholderData: keepPreviousData,
    refetchInterval: page === 1 ? 5_000 : false,
  });
  const retry = useRetry();
  const filter = (change: WebhookSearch) => show({ page: undefined, ...change }, { replace: true });
  const filtered = Boolean(status ?? eventType ?? eventId ?? from ?? to);
  const rows = attempts.data?.data ?? [];
  return (
    <Card title="Attempts">
      <div className="mb-4 flex flex-wrap items-end gap-3">
        <SelectField
          label="Outcome"
          className="w-36"
          value={status ?? ""}
          onChange={(event) => filter({ status: (event.target.value as AttemptStatus) || undefined })}
        >
          <option value="">Any</option>
          {Object.entries(attemptStatuses).map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </SelectField>
        <SelectField
          label="Event"
          className="w-52"
          value={eventType ?? ""}
          onChange={(event) => filter({ eventType: event.target.value || undefined })}
        >
          <option value="">Any</option>
          {eventTypes.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </SelectField>
        <Form
          onSubmit={(form) => filter({ eventId: String(form.get("eventId")).trim() || undefined })}
          className="flex items-end gap-2"
        >
          <Field label="Event ID" className="w-44">
            {(ids) => (
              <Input
                {...ids}
                key={eventId}
                name="eventId"
                defaultValue={eventId}
                placeholder="evt_…"
                pattern="[\w\-]+"
                maxLength={64}
                title="An event ID, such as evt_01j…"
              />
            )}
          </Field>
          <Button variant="outline" type="submit">
            Find
          </Button>
        </Form>
        {(from ?? to) && (
          <Chip onRemove={() => filter({ from: undefined, to: undefined })}>
            <Time at={from} /> – <Time at={to} />
          </Chip>
        )}
        {filtered && (
          <Button
            variant="ghost"
            onClick={() =>
              filter({ status: undefined, eventType: undefined, eventId: undefined, from: undefined, to: undefined })
            }
          >
            Clear filters
          </Button>
        )}
      </div>
      <QueryState query={attempts} />
      {attempts.data?.meta.total === 0 &&
        (filtered ? (
          <Empty title="No attempts match these filters" />
        ) : (
          <Empty title="No attempts yet">
            <p>
              An attempt appears here for each subscribed event. Send a test to check that your server is reachable and
              accepts the signature.
            </p>
            <Button onClick={onTest}>Send test</Button>
          </Empty>
        ))}
      {rows.length > 0 && (
        <Table label="Attempts" stacked>
          <Columns names={["Time", "Event", "Outcome", "Response", { right: "Response time" }, { right: "Attempt" }]} />
          <tbody>
            {byEvent(rows).map(({ row: attempt, first }) => (
              <tr key={attempt.id} className={cn("hover:bg-muted/50", !first && "sm:[&>td]:border-t-0")}>
                <td>
                  <button type="button" className={link} onClick={() => show({ attempt: attempt.id })}>
                    <Time at={attempt.deliveredAt} seconds />
                  </button>
                </td>
                <td>
                  <code className={cn("text-xs", !first && "pl-4 text-muted-foreground")}>{attempt.eventType}</code>
                  {first && attempt.orderId && (
                    <span className="block text-xs">
                      <OrderLink id={attempt.orderId} />
                    </span>
                  )}
                </td>
                <td>
                  <StatusBadge status={attempt.status} />
                  {attempt.nextRetryAt && (
                    <span className="block pt-0.5 text-xs text-muted-foreground">
                      next <Countdown to={attempt.nextRetryAt} />
                      <Button
                        variant="link"
                        size="small"
                        busy={retry.isPending && retry.variables === attempt.deliveryId}
                        onClick={() => retry.mutate(attempt.deliveryId!)}
                      >
                        Retry now
                      </Button>
                    </span>
                  )}
                </td>
                <td className="max-w-72 truncate" title={attempt.error}>
                  {attempt.error || attempt.statusCode || "–"}
                </td>
                <td className="text-right whitespace-nowrap tabular-nums">{formatMs(attempt.responseTimeMs)}</td>
                <td className="text-right tabular-nums">
                  {attempt.deliveryId ? attempt.attemptNumber : <span className="text-muted-foreground">test</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      {attempts.data && attempts.data.meta.total > 0 && (
        <Pages
          {...attempts.data.meta}
          page={page}
          onPage={(change) =>
            show((newest) => {
              const next = Math.min(change(newest.page ?? 1), attempts.data.meta.totalPages);
              return { page: next > 1 ? next : undefined };
            })
          }
        />
      )}
    </Card>
  );
}

const Chip = ({ onRemove, children }: { onRemove: () => void; children: ReactNode }) => (
  <span className="flex h-9 items-center gap-2 rounded-md border pl-3 text-sm">
    <span>{children}</span>
    <Button variant="ghost" size="icon" className="size-8" aria-label="Remove time filter" onClick={onRemove}>
      <X />
    </Button>
  </span>
);

type PagesProps = {
  total: number;
  page: number;
  limit: number;
  totalPages: number;
  onPage: (change: (page: number) => number) => void;
};

function Pages({ total, page, limit, totalPages, onPage }: PagesProps) {
  const count = (n: number) => n.toLocaleString();
  const first = count(Math.min((page - 1) * limit + 1, total));
  return (
    <nav aria-label="Pages of attempts" className="mt-3 flex flex-wrap items-center justify-between gap-2 text-sm">
      <span className="text-muted-foreground" role="status">
        {page > totalPages
          ? `Page ${page} does not exist`
          : `${first}–${count(Math.min(page * limit, total))} of ${count(total)}`}
      </span>
      <span className="flex items-center gap-2">
        <Button variant="outline" size="small" disabled={page <= 1} onClick={() => onPage((newest) => newest - 1)}>
          <ChevronLeft aria-hidden /> Newer
        </Button>
        <Form onSubmit={(form) => onPage(() => Number(form.get("page")))} className="flex items-center gap-1.5">
          <Input
            key={page}
            type="number"
            name="page"
            aria-label="Page"
            required
            min={1}
            max={totalPages}
            defaultValue={page}
            className="h-8 w-20 text-right tabular-nums"
          />
          <span className="whitespace-nowrap">of {totalPages.toLocaleString()}</span>
        </Form>
        <Button
          variant="outline"
          size="small"
          disabled={page >= totalPages}
          onClick={() => onPage((newest) => newest + 1)}
        >
          Older <ChevronRight aria-hidden />
        </Button>
      </span>
    </nav>
  );
}
