import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { api, data, newIdempotencyKey } from "@/api/client";
import { useInvalidate, queries } from "@/api/queries";
import { postReplay } from "@/api/requests";
import {
  type AnyEventType,
  type BulkReplay,
  type Webhook,
  type ReplayRequest,
  isSubscribable,
} from "@/domain/webhooks";
import { Button } from "@/ui/button";
import { Dialog, DialogActions } from "@/ui/dialog";
import { SelectField } from "@/ui/field";
import { Time } from "@/ui/format";
import { Badge, Card, Failure } from "@/ui/page";
import { useErrorToast } from "@/ui/toast";

const replayable: Record<NonNullable<ReplayRequest["status"]>, string> = {
  dead_letter: "Dead letters",
  delivered: "Delivered",
  cancelled: "Cancelled",
  missed: "Missed events",
};

const day = 86_400_000;
const ages = { "1 hour": day / 24, "24 hours": day, "7 days": 7 * day, "30 days": 30 * day };

type Props = { webhooks: Webhook[]; webhookId?: string; reason?: string; onClose: () => void };

/**
 * Starts a bulk replay, restricted to dead letters with the given reason, if any. A dry run with the
 * same filters counts the deliveries first. The time span has no end, so that it includes events of clocks that are
 * ahead.
 */
export function ReplayDialog({ webhooks, webhookId, reason, onClose }: Props) {
  const eventTypes = (useQuery(queries.eventTypes).data ?? []).filter(isSubscribable);
  const invalidate = useInvalidate();
  const [now] = useState(Date.now);
  const [age, setAge] = useState<keyof typeof ages>("30 days");
  const [filters, setFilters] = useState<Omit<ReplayRequest, "from" | "to" | "dryRun">>({
    webhookId,
    status: "dead_letter",
    reason,
  });
  const [idempotencyKey, setIdempotencyKey] = useState(newIdempotencyKey);
  const body: ReplayRequest = {
    ...filters,
    from: new Date(now - ages[age]).toISOString(),
  };
  const dryRun = useQuery(queries.webhooks.dryRun(body));
  const start = useMutation({
    mutationFn: () => postReplay(body, idempotencyKey),
    onSuccess: () => invalidate("webhooks"),
  });
  const change = (next: Partial<typeof filters>) => {
    setFilters({ ...filters, ...next });
    setIdempotencyKey(newIdempotencyKey());
  };
  if (start.data?.id) {
    return (
      <Dialog
        onClose={onClose}
        title="Replay progress"
        description="You can close this dialog. The replay continues, and the page shows its progress."
      >
        <Progress id={start.data.id} initial={start.data} />
        <DialogActions>
          <Button onClick={onClose}>Done</Button>
        </DialogActions>
      </Dialog>
    );
  }
  const off = webhooks.filter((webhook) => !webhook.isActive && webhook.id === (filters.webhookId ?? webhook.id));
  const missed = filters.status === "missed";
  const again = missed ? "" : " again";
  const matching = dryRun.data && !dryRun.isFetching ? (dryRun.data.matched ?? 0) - dryRun.data.skipped : undefined;
  return (
    <Dialog
      onClose={onClose}
      title="Replay deliveries"
      description={
        <>
          Sends finished deliveries again. Receivers recognize repeats by the event ID. Replays use at most half of the
          plan's limit, so that new events are not delayed.
        </>
      }
    >
      <SelectField
        label="Webhook"
        value={filters.webhookId ?? ""}
        onChange={(event) => {
          const webhookId = event.target.value || undefined;
          change(missed && !webhookId ? { webhookId, status: "dead_letter" } : { webhookId });
        }}
      >
        <option value="">All webhooks</option>
        {webhooks.map((webhook) => (
          <option key={webhook.id} value={webhook.id}>
            {webhook.url}
          </option>
        ))}
      </SelectField>
      <SelectField
        label="Status"
        hint={
          missed
            ? "Events that the webhook subscribes to and never received, for example because it was turned off."
            : !filters.webhookId && "Choose one webhook to replay events that it missed."
        }
        value={filters.status}
        onChange={(event) => change({ status: event.target.value as ReplayRequest["status"], reason: undefined })}
      >
        {Object.entries(replayable)
          .filter(([status]) => status !== "missed" || filters.webhookId)
          .map(([status, name]) => (
            <option key={status} value={status}>
              {name}
            </option>
          ))}
      </SelectField>
      {reason && filters.status === "dead_letter" && (
        <SelectField
          label="Reason"
          value={filters.reason ?? ""}
          onChange={(event) => change({ reason: event.target.value || undefined })}
        >
          <option value="">Any</option>
          <option>{reason}</option>
        </SelectField>
      )}
      <div className="grid gap-4 sm:grid-cols-2">
        <SelectField
          label="Event"
          value={filters.eventType ?? ""}
          onChange={(event) => change({ eventType: (event.target.value as AnyEventType) || undefined })}
        >
          <option value="">Any</option>
          {eventTypes.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </SelectField>
        <SelectField
          label="Created in the last"
          value={age}
          onChange={(event) => {
            setAge(event.target.value as keyof typeof ages);
            setIdempotencyKey(newIdempotencyKey());
          }}
        >
          {Object.keys(ages).map((name) => (
            <option key={name}>{name}</option>
          ))}
        </SelectField>
      </div>
      <p role="status" className="rounded-md border bg-muted p-3 text-sm" data-testid="dry-run">
        {matching === undefined ? "Counting…" : matchText(matching, missed)}
        {dryRun.data &&
          matching !== undefined &&
          dryRun.data.skipped > 0 &&
          ` ${dryRun.data.skipped.toLocaleString()} more have events that are no longer stored.`}
      </p>
      {off.length > 0 && (
        <p role="alert" className="rounded-md border border-warning/50 p-3 text-sm">
          {filters.webhookId
            ? `This webhook is turned off: its deliveries become dead letters${again}. Turn it on first.`
            : `Turned off: ${off.map((webhook) => webhook.url).join(", ")}. ` +
              "The deliveries of these webhooks become dead letters again."}
        </p>
      )}
      <Failure error={dryRun.error ?? start.error} />
      <DialogActions>
        <Button variant="outline" onClick={onClose}>
          Cancel
        </Button>
        <Button busy={start.isPending} disabled={!matching} onClick={() => start.mutate()}>
          {matching ? `Replay ${matching.toLocaleString()}` : "Replay"}
        </Button>
      </DialogActions>
    </Dialog>
  );
}

/** Says how many deliveries a replay sends or, if it is one of missed events, how many events. */
function matchText(n: number, missed: boolean) {
  const [one, many] = missed ? ["event", "events"] : ["delivery", "deliveries"];
  if (n === 0) return `No ${many} match these filters.`;
  return n === 1 ? `1 ${one} matches these filters.` : `${n.toLocaleString()} ${many} match these filters.`;
}

const deadLettersAgain = (n: number) => (n === 1 ? "1 dead letter again" : `${n.toLocaleString()} dead letters again`);

/** The progress of a bulk replay. */
function Progress({ id, initial }: { id: string; initial: BulkReplay }) {
  const invalidate = useInvalidate();
  const showError = useErrorToast();
  const replay = useQuery({ ...queries.webhooks.replay(id), initialData: initial });
  const cancel = useMutation({
    mutationFn: () => data(api.POST("/replays/{id}/cancel", { params: { path: { id } } })),
    onError: showError,
    onSettled: () => invalidate("webhooks"),
  });
  const { status, matched, replayed, skipped, inProgress, reason } = replay.data;
  const done = replayed + skipped;
  const percent = matched === undefined ? 0 : matched > 0 ? Math.min(100, Math.round((done / matched) * 100)) : 100;
  const parts = [
    matched === undefined
      ? "The matching deliveries are being counted"
      : `${replayed.toLocaleString()} of ${matched.toLocaleString()} queued`,
  ];
  if (inProgress > 0) parts.push(`${inProgress.toLocaleString()} in progress`);
  if (skipped > 0) parts.push(`${skipped.toLocaleString()} skipped (no longer stored or already replayed)`);
  const { outcomes } = replay.data;
  if (outcomes) {
    if (outcomes.delivered > 0) parts.push(`${outcomes.delivered.toLocaleString()} delivered`);
    if (outcomes.retrying > 0) parts.push(`${outcomes.retrying.toLocaleString()} retrying`);
    if (outcomes.deadLetters > 0) parts.push(deadLettersAgain(outcomes.deadLetters));
    if (outcomes.cancelled > 0) parts.push(`${outcomes.cancelled.toLocaleString()} cancelled`);
  }
  return (
    <div className="grid gap-2">
      <div className="flex flex-wrap items-center justify-between gap-2 text-sm">
        <span className="flex items-center gap-2">
          <Badge tone={status === "running" ? "accent" : status === "completed" ? "good" : "neutral"}>{status}</Badge>
          <span role="status">{parts.join(" · ")}</span>
        </span>
        {status === "running" && (
          <Button variant="outline" size="small" busy={cancel.isPending} onClick={() => cancel.mutate()}>
            Stop replay
          </Button>
        )}
      </div>
      <div
        role="progressbar"
        aria-label="Replay progress"
        aria-valuenow={percent}
        aria-valuemin={0}
        aria-valuemax={100}
        className="h-2 overflow-hidden rounded-full bg-muted"
      >
        <div className="h-full bg-primary" style={{ width: `${percent}%` }} />
      </div>
      {status === "cancelled" && reason && <p className="text-xs text-muted-foreground">{reason}</p>}
      <Failure error={replay.error} />
    </div>
  );
}

/** The newest bulk replays of one webhook or of the store. Renders nothing if there are none. */
export function Replays({
  webhookId,
  urlOf,
}: { webhookId: string; urlOf?: never } | { webhookId?: never; urlOf: (id: string) => string }) {
  const replays = useQuery(queries.webhooks.replays(webhookId));
  if (replays.error) return <Failure error={replays.error} retry={() => void replays.refetch()} />;
  if (!replays.data?.length) return null;
  return (
    <Card title="Bulk replays">
      <ul className="grid gap-4">
        {replays.data.map((replay) => (
          <li key={replay.id} className="grid gap-1">
            <p className="text-xs text-muted-foreground">
              <Time at={replay.createdAt} /> · {replayable[replay.deliveryStatus]}
              {urlOf && (
                <span className="break-all"> · {replay.webhookId ? urlOf(replay.webhookId) : "all webhooks"}</span>
              )}
              {replay.eventType && `, ${replay.eventType}`}
              {replay.deliveryReason && <span className="break-words">, {replay.deliveryReason}</span>} · created{" "}
              <Time at={replay.from} /> – <Time at={replay.to} />
            </p>
            <Progress id={replay.id!} initial={replay} />
          </li>
        ))}
      </ul>
    </Card>
  );
}
