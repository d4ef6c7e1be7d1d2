import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, data, idempotencyKey } from "@/api/client";
import { wordsOf } from "@/api/words";
import type { components } from "@/api/schema";
import { Button } from "@/ui/button";
import { Dialog, DialogActions } from "@/ui/dialog";
import { SelectField } from "@/ui/field";
import { Time } from "@/ui/format";
import { Badge, Card, Failure } from "@/ui/page";
import { useToast } from "@/ui/toast";

import { type BulkReplay, type EventType, type Webhook, isSubscribable, useEventTypes, webhooksKey } from "./data";

type Wanted = components["schemas"]["ReplayStoreRequest"];

const replayable: Record<Wanted["status"], string> = {
  dead_letter: "Dead letters",
  delivered: "Delivered ones, for a receiver that has lost them",
  cancelled: "Cancelled ones",
};

const day = 86_400_000;
const ages = { "1 hour": day / 24, "24 hours": day, "7 days": 7 * day, "30 days": 30 * day };

type Props = { webhooks: Webhook[]; webhookId?: string; reason?: string; onClose: () => void };

/**
 * Orders a bulk replay, if a reason is given of the dead letters that have it. How much that would be is counted
 * beforehand, for the same span of time.
 */
export function ReplayDialog({ webhooks, webhookId, reason, onClose }: Props) {
  const eventTypes = (useEventTypes().data ?? []).filter(isSubscribable);
  const queries = useQueryClient();
  const [now] = useState(Date.now);
  const [age, setAge] = useState<keyof typeof ages>("30 days");
  const [wanted, setWanted] = useState<Pick<Wanted, "webhookId" | "status" | "reason" | "eventType">>({ webhookId, status: "dead_letter", reason });
  const [once, setOnce] = useState(idempotencyKey);
  const body: Wanted = { ...wanted, from: new Date(now - ages[age]).toISOString(), to: new Date(now).toISOString() };
  const count = useQuery({
    queryKey: [...webhooksKey, "dry-run", body],
    queryFn: () => data(api.POST("/replays", { body: { ...body, dryRun: true } })),
    staleTime: 0,
    gcTime: 0,
  });
  const order = useMutation({
    mutationFn: () => data(api.POST("/replays", { body, params: { header: { "Idempotency-Key": once } } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: webhooksKey }),
  });
  const change = (next: Partial<typeof wanted>) => {
    setWanted({ ...wanted, ...next });
    setOnce(idempotencyKey());
  };
  if (order.data?.id) {
    return (
      <Dialog onClose={onClose} title="Replaying" description="You can close this: the replay goes on, and its progress stays on the page.">
        <Progress id={order.data.id} initial={order.data} />
        <DialogActions>
          <Button onClick={onClose}>Done</Button>
        </DialogActions>
      </Dialog>
    );
  }
  const left = count.data && !count.isFetching ? count.data.matched - count.data.skipped : undefined;
  return (
    <Dialog onClose={onClose} title="Replay deliveries" description="Deliver once more what has ended. Receivers know repeats by the event's id. At most half of what the plan allows goes to replays, so new events keep flowing.">
      <SelectField label="Receiver" value={wanted.webhookId ?? ""} onChange={(event) => change({ webhookId: event.target.value || undefined })}>
        <option value="">All of this store</option>
        {webhooks.map((webhook) => (
          <option key={webhook.id} value={webhook.id}>
            {webhook.url}
          </option>
        ))}
      </SelectField>
      <SelectField label="Which" value={wanted.status} onChange={(event) => change({ status: event.target.value as Wanted["status"], reason: undefined })}>
        {Object.entries(replayable).map(([status, name]) => (
          <option key={status} value={status}>
            {name}
          </option>
        ))}
      </SelectField>
      {reason && wanted.status === "dead_letter" && (
        <SelectField label="Reason" value={wanted.reason ?? ""} onChange={(event) => change({ reason: event.target.value || undefined })}>
          <option value="">Any</option>
          <option>{reason}</option>
        </SelectField>
      )}
      <div className="grid gap-4 sm:grid-cols-2">
        <SelectField label="Event" value={wanted.eventType ?? ""} onChange={(event) => change({ eventType: (event.target.value as EventType) || undefined })}>
          <option value="">Any</option>
          {eventTypes.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </SelectField>
        <SelectField
          label="Made in the last"
          value={age}
          onChange={(event) => {
            setAge(event.target.value as keyof typeof ages);
            setOnce(idempotencyKey());
          }}
        >
          {Object.keys(ages).map((name) => (
            <option key={name}>{name}</option>
          ))}
        </SelectField>
      </div>
      <p role="status" className="rounded-md border bg-muted p-3 text-sm" data-testid="dry-run">
        {left === undefined
          ? "Counting…"
          : left === 0
            ? "No delivery is like that."
            : `${left.toLocaleString("en")} ${left === 1 ? "delivery" : "deliveries"} would be made once more.`}
        {count.data && left !== undefined && count.data.skipped > 0 && ` Of ${count.data.skipped.toLocaleString("en")} more the event is no longer kept.`}
      </p>
      <Failure error={count.error ?? order.error} />
      <DialogActions>
        <Button variant="outline" onClick={onClose}>
          Cancel
        </Button>
        <Button busy={order.isPending} disabled={!left} onClick={() => order.mutate()}>
          {left ? `Replay ${left.toLocaleString("en")}` : "Replay"}
        </Button>
      </DialogActions>
    </Dialog>
  );
}

/** How far a bulk replay has come. */
function Progress({ id, initial }: { id: string; initial: BulkReplay }) {
  const queries = useQueryClient();
  const toast = useToast();
  const replay = useQuery({
    queryKey: [...webhooksKey, "replay", id],
    queryFn: () => data(api.GET("/replays/{id}", { params: { path: { id } } })),
    initialData: initial,
    staleTime: 0,
    refetchInterval: (query) => (query.state.data?.status === "running" || (query.state.data?.inProgress ?? 0) > 0 ? 1_000 : false),
  });
  const cancel = useMutation({
    mutationFn: () => data(api.POST("/replays/{id}/cancel", { params: { path: { id } } })),
    onError: (error) => toast(wordsOf(error), { bad: true }),
    onSettled: () => queries.invalidateQueries({ queryKey: webhooksKey }),
  });
  const { status, matched, replayed, skipped, inProgress, reason } = replay.data;
  const done = replayed + skipped;
  const percent = matched > 0 ? Math.min(100, Math.round((done / matched) * 100)) : 100;
  const parts = [`${replayed.toLocaleString("en")} of ${matched.toLocaleString("en")} queued`];
  if (inProgress > 0) parts.push(`${inProgress.toLocaleString("en")} on their way`);
  if (skipped > 0) parts.push(`${skipped.toLocaleString("en")} skipped: no longer kept, or replayed already`);
  return (
    <div className="grid gap-2">
      <div className="flex flex-wrap items-center justify-between gap-2 text-sm">
        <span className="flex items-center gap-2">
          <Badge tone={status === "running" ? "accent" : status === "completed" ? "good" : "neutral"}>{status}</Badge>
          <span role="status">{parts.join(" · ")}</span>
        </span>
        {status === "running" && (
          <Button variant="outline" size="small" busy={cancel.isPending} onClick={() => cancel.mutate()}>
            Queue no more
          </Button>
        )}
      </div>
      <div role="progressbar" aria-label="Progress of the replay" aria-valuenow={percent} aria-valuemin={0} aria-valuemax={100} className="h-2 overflow-hidden rounded-full bg-muted">
        <div className="h-full bg-primary" style={{ width: `${percent}%` }} />
      </div>
      {status === "cancelled" && reason && <p className="text-xs text-muted-foreground">{reason}</p>}
      <Failure error={replay.error} />
    </div>
  );
}

/** The newest bulk replays, of one webhook or of the whole store. Nothing when there were none. */
export function Replays({ webhookId, urlOf }: { webhookId: string; urlOf?: never } | { webhookId?: never; urlOf: (id: string) => string }) {
  const query = { limit: 3 };
  const replays = useQuery({
    queryKey: [...webhooksKey, webhookId, "replays"],
    queryFn: () =>
      data(webhookId ? api.GET("/webhooks/{id}/replays", { params: { path: { id: webhookId }, query } }) : api.GET("/replays", { params: { query } })),
    refetchInterval: 30_000,
  });
  if (replays.error) return <Failure error={replays.error} retry={() => void replays.refetch()} />;
  if (!replays.data?.length) return null;
  return (
    <Card title="Bulk replays">
      <ul className="grid gap-4">
        {replays.data.map((replay) => (
          <li key={replay.id} className="grid gap-1">
            <p className="text-xs text-muted-foreground">
              <Time at={replay.createdAt} /> · {replayable[replay.deliveryStatus as Wanted["status"]].split(",")[0]}
              {urlOf && <span className="break-all"> of {replay.webhookId ? urlOf(replay.webhookId) : "all receivers"}</span>}
              {replay.eventType && `, ${replay.eventType}`}
              {replay.deliveryReason && <span className="break-words">, {replay.deliveryReason}</span>} · made <Time at={replay.from} /> – <Time at={replay.to} />
            </p>
            <Progress id={replay.id!} initial={replay} />
          </li>
        ))}
      </ul>
    </Card>
  );
}
