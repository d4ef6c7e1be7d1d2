import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { CheckCheck, CircleAlert, Clock, Send } from "lucide-react";
import { useEffect, useRef, useState } from "react";

import { queries } from "@/api/queries";
import { useSession } from "@/session/session";
import { Countdown } from "@/ui/duration";
import { Time, useClockTime } from "@/ui/format";
import { Badge, Card, QueryState } from "@/ui/page";

import { type Delivery, type Reach, byWebhook, eventLabels, reachOf, reachTones, webhookName } from "./deliveries";

const icons = { reached: CheckCheck, sending: Send, retrying: Clock, failed: CircleAlert };

function labelOf({ state, missing, nextRetryAt }: Reach, clock: (at: string) => string): string {
  const names = missing.join(", ");
  switch (state) {
    case "reached":
      return "Reached all webhooks";
    case "sending":
      return `On its way to ${names}`;
    case "retrying":
      return `Not yet at ${names}${nextRetryAt ? `; next attempt at ${clock(nextRetryAt)}` : ""}`;
    case "failed":
      return `Did not reach ${names}`;
  }
}

/** A mark on a card: whether the order's events have reached the webhooks. Stores without webhooks have no mark. */
export function ReachMark({ orderId }: { orderId: string }) {
  const place = useRef<HTMLSpanElement>(null);
  const seen = useSeen(place);
  const clock = useClockTime();
  const { data } = useQuery({
    ...queries.orders.deliveries(orderId),
    enabled: seen,
    staleTime: Infinity,
    select: reachOf,
  });
  const Icon = data && icons[data.state];
  const label = data && labelOf(data, clock);
  return (
    <span ref={place} className="min-h-px min-w-px">
      {Icon && (
        <Badge tone={reachTones[data.state]} title={label} data-reach={data.state} className="px-1">
          <Icon className="size-3.5" aria-hidden />
          <span className="sr-only">{label}</span>
        </Badge>
      )}
    </span>
  );
}

/** Returns whether an element has been on the screen. The board has more cards than a screen shows. */
function useSeen(place: { current: Element | null }) {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    if (!place.current) return;
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      setSeen(true);
      observer.disconnect();
    });
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [place]);
  return seen;
}

/** The webhooks that the events of an order have reached, and the others with their next attempts. */
export function Reached({ orderId, refetchInterval }: { orderId: string; refetchInterval: number | undefined }) {
  const { atLeast } = useSession();
  const found = useQuery({ ...queries.orders.deliveries(orderId), refetchInterval });
  return (
    <Card title="Connected systems">
      <QueryState of={found} />
      {found.data?.length === 0 && (
        <p className="text-sm text-muted-foreground">
          No webhook receives the events of this order. Tills and shops that are connected by a webhook appear here.
        </p>
      )}
      <ul className="grid gap-4" aria-label="Connected systems">
        {byWebhook(found.data ?? []).map(({ webhook, deliveries }) => (
          <li key={webhook.id} className="min-w-0 text-sm">
            <p className="font-medium break-words">
              {atLeast("ADMIN") ? (
                <Link
                  to="/webhooks/$id"
                  params={{ id: webhook.id }}
                  className="text-primary underline-offset-4 hover:underline"
                >
                  {webhookName(webhook)}
                </Link>
              ) : (
                webhookName(webhook)
              )}
            </p>
            <ul className="mt-1 grid gap-1">
              {deliveries.map((delivery) => (
                <li key={delivery.eventId} className="flex flex-wrap justify-between gap-x-3 border-l-2 pl-3">
                  <span>{eventLabels[delivery.eventType] ?? delivery.eventType}</span>
                  <Outcome of={delivery} />
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Outcome({ of: { status, deliveredAt, nextRetryAt, attempts } }: { of: Delivery }) {
  const count = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
  switch (status) {
    case "delivered":
      return (
        <span className="text-success">
          Delivered <Time at={deliveredAt} seconds />
        </span>
      );
    case "retrying":
      return (
        <span className="text-warning">
          {count}, next {nextRetryAt ? <Countdown to={nextRetryAt} /> : "soon"}
        </span>
      );
    case "dead_letter":
      return <span className="text-danger">Not delivered after {count}</span>;
    case "cancelled":
      return <span className="text-muted-foreground">Cancelled</span>;
    case "queued":
    case "pending":
      return <span className="text-muted-foreground">{attempts > 0 ? `${count}, on its way` : "On its way"}</span>;
  }
}
