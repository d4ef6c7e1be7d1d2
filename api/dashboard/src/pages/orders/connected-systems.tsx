import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { CheckCheck, CircleAlert, Clock, Send } from "lucide-react";

import { queries } from "@/api/queries";
import { useSession } from "@/session/session";
import { Countdown } from "@/ui/duration";
import { Time, useClockTime } from "@/ui/format";
import { link } from "@/ui/link";
import { Badge, Card, QueryState } from "@/ui/page";
import { useSeen } from "@/ui/seen";

import {
  type Delivery,
  type DeliveryState,
  byWebhook,
  eventLabels,
  deliveryStateOf,
  stateTones,
  webhookName,
} from "./deliveries";

const icons = { delivered: CheckCheck, sending: Send, retrying: Clock, failed: CircleAlert };

function labelOf({ state, missing, nextRetryAt }: DeliveryState, clock: (at: string) => string): string {
  const names = missing.join(", ");
  switch (state) {
    case "delivered":
      return "Reached all webhooks";
    case "sending":
      return `On its way to ${names}`;
    case "retrying":
      return `Not yet at ${names}${nextRetryAt ? `; next attempt at ${clock(nextRetryAt)}` : ""}`;
    case "failed":
      return `Did not reach ${names}`;
  }
}

/**
 * A mark on a card: whether the order's events are delivered to the webhooks. Stores without webhooks have no mark. Its
 * place is kept free from the beginning, so that no button moves while it is pressed.
 */
export function DeliveryMark({ orderId }: { orderId: string }) {
  const [place, seen] = useSeen<HTMLSpanElement>();
  const clock = useClockTime();
  const { data } = useQuery({
    ...queries.orders.deliveries(orderId),
    enabled: seen,
    staleTime: Infinity,
    select: deliveryStateOf,
  });
  const Icon = data && icons[data.state];
  const label = data && labelOf(data, clock);
  return (
    <span ref={place}>
      {Icon ? (
        <Badge tone={stateTones[data.state]} title={label} data-deliveries={data.state} className="px-1">
          <Icon className="size-3.5" aria-hidden />
          <span className="sr-only">{label}</span>
        </Badge>
      ) : (
        <Badge aria-hidden className="invisible px-1">
          <Clock className="size-3.5" />
        </Badge>
      )}
    </span>
  );
}

/** The webhooks of the store with the deliveries of an order's events. */
export function ConnectedSystems({
  orderId,
  refetchInterval,
}: {
  orderId: string;
  refetchInterval: number | undefined;
}) {
  const { atLeast } = useSession();
  const found = useQuery({ ...queries.orders.deliveries(orderId), refetchInterval });
  return (
    <Card title="Connected systems">
      <QueryState query={found} />
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
                <Link to="/webhooks/$id" params={{ id: webhook.id }} className={link}>
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
                  <Outcome delivery={delivery} />
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Outcome({ delivery: { status, deliveredAt, nextRetryAt, attempts } }: { delivery: Delivery }) {
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
