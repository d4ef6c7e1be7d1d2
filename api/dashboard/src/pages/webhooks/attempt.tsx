import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ExternalLink } from "lucide-react";
import type { ReactNode } from "react";

import { api, data } from "@/api/client";
import { wordsOf } from "@/api/words";
import { Button } from "@/ui/button";
import { Countdown, formatMs } from "@/ui/duration";
import { Time } from "@/ui/format";
import { Failure, QueryState } from "@/ui/page";
import { Sheet } from "@/ui/dialog";
import { CodeBlock, pretty } from "@/ui/text";
import { useToast } from "@/ui/toast";

import { type Delivery, webhooksKey } from "./data";
import { StatusBadge } from "./status";

/** One attempt in full: what was sent, what came back, what happens next. */
export function AttemptSheet({ webhookId, id, onClose }: { webhookId: string; id: string; onClose: () => void }) {
  const attempt = useQuery({
    queryKey: [...webhooksKey, webhookId, "attempt", id],
    queryFn: () => data(api.GET("/webhooks/{id}/deliveries/{attemptId}", { params: { path: { id: webhookId, attemptId: id } } })),
    refetchInterval: (query) => (query.state.data?.status === "retrying" ? 2_000 : false),
  });
  const shown = attempt.data;
  const deliveryId = shown?.deliveryId;
  const delivery = useQuery({
    queryKey: [...webhooksKey, webhookId, "delivery", deliveryId],
    queryFn: () => data(api.GET("/deliveries/{id}", { params: { path: { id: deliveryId! } } })),
    enabled: Boolean(deliveryId),
    refetchInterval: 2_000,
  });
  return (
    <Sheet onClose={onClose} title={shown ? (shown.deliveryId ? `Attempt ${shown.attemptNumber} of ${shown.eventType}` : "Test") : "Attempt"}>
      <QueryState of={attempt} />
      {shown && (
        <>
          <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1.5 text-sm [&_dd]:min-w-0 [&_dd]:break-words [&_dt]:text-muted-foreground">
            <dt>Outcome</dt>
            <dd className="flex flex-wrap items-center gap-2">
              <StatusBadge status={shown.status} />
              {shown.nextRetryAt && (
                <span>
                  next retry <Countdown to={shown.nextRetryAt} />
                </span>
              )}
            </dd>
            <dt>Answer</dt>
            <dd>{shown.error || `HTTP ${shown.statusCode}`}</dd>
            <dt>Made</dt>
            <dd>
              <Time at={shown.deliveredAt} seconds />
            </dd>
            <dt>Took</dt>
            <dd className="tabular-nums">{formatMs(shown.responseTimeMs)} until the status line</dd>
            <dt>Event</dt>
            <dd>
              <code className="text-xs break-all">{shown.eventId}</code>
            </dd>
            {delivery.data && (
              <>
                <dt>Delivery</dt>
                <dd className="flex flex-wrap items-center gap-2">
                  <StatusBadge status={delivery.data.status} />
                  {delivery.data.attempts === 1 ? "1 attempt so far" : `${delivery.data.attempts} attempts so far`}
                </dd>
              </>
            )}
          </dl>
          <Failure error={delivery.error} />
          {delivery.data && <DeliveryActions delivery={delivery.data} />}
          <Part title="Request">
            <p className="text-sm break-all">
              <code className="text-xs">
                {shown.request.method} {shown.request.url}
              </code>
            </p>
            <Headers of={shown.request.headers} />
            <Body text={shown.request.body} label="Body of the request" />
          </Part>
          <Part title="Response">
            {shown.response ? (
              <>
                <Headers of={shown.response.headers} />
                <Body
                  text={shown.response.body}
                  label={shown.response.bodyEncoding === "base64" ? "Body of the response, its first 16 KiB, in base64" : "Body of the response, its first 16 KiB"}
                />
              </>
            ) : (
              <p className="text-sm text-muted-foreground">There was none: {shown.error || "the server did not answer"}.</p>
            )}
          </Part>
        </>
      )}
    </Sheet>
  );
}

const Part = ({ title, children }: { title: string; children: ReactNode }) => (
  <section className="grid gap-2 border-t pt-4">
    <h3 className="font-semibold">{title}</h3>
    {children}
  </section>
);

function Headers({ of }: { of: Record<string, string[]> }) {
  const headers = Object.entries(of).sort(([one], [other]) => one.localeCompare(other));
  if (headers.length === 0) return <p className="text-sm text-muted-foreground">No headers are kept.</p>;
  return (
    <dl className="grid gap-x-4 gap-y-1 rounded-md border p-3 text-xs sm:grid-cols-[auto_1fr]">
      {headers.map(([name, values]) => (
        <div key={name} className="contents">
          <dt className="text-muted-foreground">{name}</dt>
          <dd className="min-w-0 font-mono break-all">{values.join(", ")}</dd>
        </div>
      ))}
    </dl>
  );
}

function Body({ text, label }: { text: string | null; label: string }) {
  if (text === null) return <p className="text-sm text-muted-foreground">The body is no longer kept.</p>;
  if (text === "") return <p className="text-sm text-muted-foreground">The body is empty.</p>;
  return <CodeBlock text={pretty(text)} label={label} />;
}

const ended: Delivery["status"][] = ["delivered", "dead_letter", "cancelled"];

/** Queues a delivery once more. */
export function useReplay() {
  const queries = useQueryClient();
  const toast = useToast();
  return useMutation({
    mutationFn: (id: string) => data(api.POST("/deliveries/{id}/replay", { params: { path: { id } } })),
    onSuccess: () => toast("It is delivered once more"),
    onError: (error) => toast(wordsOf(error), { bad: true }),
    onSettled: () => queries.invalidateQueries({ queryKey: webhooksKey }),
  });
}

function DeliveryActions({ delivery }: { delivery: Delivery }) {
  const replay = useReplay();
  return (
    <div className="flex flex-wrap gap-2">
      {ended.includes(delivery.status) && (
        <Button size="small" busy={replay.isPending} onClick={() => replay.mutate(delivery.id)}>
          Deliver once more
        </Button>
      )}
      {delivery.workflowUrl && (
        <Button asChild variant="outline" size="small">
          <a href={delivery.workflowUrl} target="_blank" rel="noreferrer">
            <ExternalLink aria-hidden /> Open in Temporal
          </a>
        </Button>
      )}
    </div>
  );
}
