import { ComandaError } from "@comanda/client";
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";

import { queries } from "@/api/queries";
import type { Delivery } from "@/domain/webhooks";
import { Countdown } from "@/ui/duration";
import { Time } from "@/ui/format";
import { inlineLink, link } from "@/ui/link";
import { Card, Empty, PageHeader, QueryState } from "@/ui/page";

import { DeliveryActions } from "./delivery-actions";
import { Details } from "./details";
import { Start } from "./start";
import { StatusBadge } from "./status";

const route = getRouteApi("/inside/webhooks/deliveries/$id");

/** The page of a delivery: of one event to one webhook, with its retry or replay. */
export function DeliveryPage() {
  const { id } = route.useParams();
  const delivery = useQuery(queries.webhooks.delivery(id));
  if (delivery.error instanceof ComandaError && delivery.error.status === 404) {
    return (
      <Empty title="Delivery not found">
        <p>It is no longer stored or belongs to another store.</p>
        <Link to="/webhooks" className={inlineLink}>
          Show all webhooks
        </Link>
      </Empty>
    );
  }
  const shown = delivery.data;
  return (
    <div className="grid gap-5 [&>*]:min-w-0">
      <div className="-mb-5">
        <Link to="/webhooks" className="text-sm text-muted-foreground hover:text-foreground">
          ← Webhooks
        </Link>
        <PageHeader title={shown ? `Delivery of ${shown.eventType}` : "Delivery"} />
      </div>
      <QueryState query={delivery} />
      {shown && (
        <Card>
          <DeliveryDetails delivery={shown} />
          <div className="mt-4 empty:hidden">
            <DeliveryActions delivery={shown} />
          </div>
        </Card>
      )}
    </div>
  );
}

function DeliveryDetails({ delivery }: { delivery: Delivery }) {
  const webhook = useQuery(queries.webhooks.one(delivery.webhookId));
  return (
    <Details>
      <dt>Status</dt>
      <dd className="flex flex-wrap items-center gap-2">
        <StatusBadge status={delivery.status} />
        {delivery.reason}
        {delivery.nextRetryAt && (
          <span>
            next retry <Countdown to={delivery.nextRetryAt} />
          </span>
        )}
      </dd>
      <dt>Event</dt>
      <dd>
        <Link to="/webhooks/events/$id" params={{ id: delivery.eventId }} className={link}>
          <code className="text-xs break-all">{delivery.eventId}</code>
        </Link>
      </dd>
      <dt>Webhook</dt>
      <dd>
        <Link to="/webhooks/$id" params={{ id: delivery.webhookId }} className={`${link} break-all`}>
          {webhook.data?.url ?? delivery.webhookId}
        </Link>
      </dd>
      <dt>Attempts</dt>
      <dd>
        {delivery.attempts === 0 ? (
          "none yet"
        ) : (
          <Link
            to="/webhooks/$id"
            params={{ id: delivery.webhookId }}
            search={{ eventId: delivery.eventId }}
            className={link}
          >
            {delivery.attempts === 1 ? "1 attempt" : `${delivery.attempts} attempts`}
          </Link>
        )}
      </dd>
      {delivery.status === "queued" && delivery.scheduledFor && (
        <>
          <dt>Starts</dt>
          <dd>
            <Time at={delivery.scheduledFor} seconds />
          </dd>
        </>
      )}
      <dt>Created</dt>
      <dd>
        <Time at={delivery.createdAt} seconds />
      </dd>
      {delivery.status === "queued" && delivery.scheduledFor === null && (
        <>
          <dt>Held back</dt>
          <dd>
            <Start delivery={delivery} />
          </dd>
        </>
      )}
      {delivery.endedAt && (
        <>
          <dt>Ended</dt>
          <dd>
            <Time at={delivery.endedAt} seconds />
          </dd>
        </>
      )}
    </Details>
  );
}
