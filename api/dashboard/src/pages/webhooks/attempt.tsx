import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { queries } from "@/api/queries";
import { cn } from "@/ui/cn";
import { CopyButton } from "@/ui/copy";
import { Countdown, formatMs } from "@/ui/duration";
import { Time } from "@/ui/format";
import { link } from "@/ui/link";
import { Failure, QueryState } from "@/ui/page";
import { Sheet } from "@/ui/dialog";
import { CodeBlock, pretty } from "@/ui/text";

import { curlOf } from "./curl";
import { DeliveryActions } from "./delivery-actions";
import { OrderLink } from "./order-link";
import { EventAttempts } from "./event-attempts";
import { StatusBadge } from "./status";

/** The details of an attempt: its request, its response and the next retry. */
export function AttemptSheet({ webhookId, id, onClose }: { webhookId: string; id: string; onClose: () => void }) {
  const attempt = useQuery(queries.webhooks.attempt(webhookId, id));
  const shown = attempt.data;
  const deliveryId = shown?.deliveryId;
  const delivery = useQuery({ ...queries.webhooks.delivery(deliveryId ?? ""), enabled: Boolean(deliveryId) });
  return (
    <Sheet
      onClose={onClose}
      title={shown ? (shown.deliveryId ? `Attempt ${shown.attemptNumber} of ${shown.eventType}` : "Test") : "Attempt"}
    >
      <QueryState query={attempt} />
      {shown && (
        <>
          <dl
            className={cn(
              "grid grid-cols-[auto_1fr] gap-x-6 gap-y-1.5 text-sm",
              "[&_dd]:min-w-0 [&_dd]:break-words [&_dt]:text-muted-foreground",
            )}
          >
            <dt>Outcome</dt>
            <dd className="flex flex-wrap items-center gap-2">
              <StatusBadge status={shown.status} />
              {shown.nextRetryAt && (
                <span>
                  next retry <Countdown to={shown.nextRetryAt} />
                </span>
              )}
            </dd>
            <dt>Response</dt>
            <dd>{shown.error || `HTTP ${shown.statusCode}`}</dd>
            <dt>Time</dt>
            <dd>
              <Time at={shown.deliveredAt} seconds />
            </dd>
            <dt>Response time</dt>
            <dd className="tabular-nums">{formatMs(shown.responseTimeMs)}</dd>
            <dt>Event</dt>
            <dd>
              {shown.deliveryId ? (
                <Link to="/webhooks/events/$id" params={{ id: shown.eventId }} className={link}>
                  <code className="text-xs break-all">{shown.eventId}</code>
                </Link>
              ) : (
                <code className="text-xs break-all">{shown.eventId}</code>
              )}
            </dd>
            {shown.orderId && (
              <>
                <dt>Order</dt>
                <dd>
                  <OrderLink id={shown.orderId} />
                </dd>
              </>
            )}
            {delivery.data && (
              <>
                <dt>Delivery</dt>
                <dd className="flex flex-wrap items-center gap-2">
                  <StatusBadge status={delivery.data.status} />
                  {delivery.data.attempts === 1 ? "1 attempt" : `${delivery.data.attempts} attempts`}
                </dd>
              </>
            )}
          </dl>
          <Failure error={delivery.error} />
          {delivery.data && <DeliveryActions delivery={delivery.data} />}
          {shown.deliveryId && <EventAttempts webhookId={webhookId} eventId={shown.eventId} shown={id} />}
          <Part title="Request">
            <p className="text-sm break-all">
              <code className="text-xs">
                {shown.request.method} {shown.request.url}
              </code>
            </p>
            <Headers headers={shown.request.headers} />
            <Body text={shown.request.body} label="Request body" />
            {shown.request.body !== null && (
              <div>
                <CopyButton text={curlOf(shown.request)} label="Copy as curl" />
              </div>
            )}
          </Part>
          <Part title="Response">
            {shown.response ? (
              <>
                <Headers headers={shown.response.headers} />
                <Body
                  text={shown.response.body}
                  label={
                    shown.response.bodyEncoding === "base64"
                      ? "Response body (first 16 KiB, base64)"
                      : "Response body (first 16 KiB)"
                  }
                />
              </>
            ) : (
              <p className="text-sm text-muted-foreground">
                No response: {shown.error || "the receiver did not respond"}.
              </p>
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

function Headers({ headers: all }: { headers: Record<string, string[]> }) {
  const headers = Object.entries(all).sort(([one], [other]) => one.localeCompare(other));
  if (headers.length === 0) return <p className="text-sm text-muted-foreground">No headers stored.</p>;
  return (
    <dl className="grid gap-x-4 gap-y-1 rounded-md border p-3 text-xs sm:grid-cols-[auto_1fr]">
      {headers.map(([name, values]) => (
        <div key={name} className="contents">
          <dt className="text-muted-foreground">{name}</dt>
          <dd className="min-w-0 font-mono break-all">
            {values.length > 0 ? values.join(", ") : <span className="text-muted-foreground">value not stored</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Body({ text, label }: { text: string | null; label: string }) {
  if (text === null) return <p className="text-sm text-muted-foreground">The body is no longer stored.</p>;
  if (text === "") return <p className="text-sm text-muted-foreground">The body is empty.</p>;
  // A signature is that of the bytes, so the button copies the text as it was sent.
  return <CodeBlock text={pretty(text)} copy={text} label={label} />;
}
