import { ComandaError } from "@comanda/client";
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";

import { queries } from "@/api/queries";
import type { Delivery } from "@/domain/webhooks";
import { Time } from "@/ui/format";
import { inlineLink, link } from "@/ui/link";
import { Card, Columns, Empty, PageHeader, QueryState, Table } from "@/ui/page";
import { CodeBlock } from "@/ui/text";

import { Details } from "./details";
import { ResourceLink } from "./resource-link";
import { Start } from "./start";
import { StatusBadge } from "./status";

const route = getRouteApi("/inside/webhooks/events/$id");

/** The page of an event: its place in the order of dispatch, its body and its deliveries. */
export function EventPage() {
  const { id } = route.useParams();
  const event = useQuery(queries.webhooks.event(id));
  const shown = event.data;
  if (event.error instanceof ComandaError && event.error.status === 404) {
    return (
      <Empty title="Event not found">
        <p>It is no longer stored or belongs to another store.</p>
        <Link to="/webhooks/events" className={inlineLink}>
          Show all events
        </Link>
      </Empty>
    );
  }
  return (
    <div className="grid gap-5 [&>*]:min-w-0">
      <div className="-mb-5">
        <Link to="/webhooks/events" className="text-sm text-muted-foreground hover:text-foreground">
          ← Events
        </Link>
        <PageHeader title={shown?.type ?? "Event"} />
      </div>
      <QueryState query={event} />
      {shown && (
        <>
          <Card>
            <Details>
              <dt>Time</dt>
              <dd>
                <Time at={shown.timestamp} seconds />
              </dd>
              <dt>Resource</dt>
              <dd>
                <ResourceLink resource={shown.resource} />
              </dd>
              <dt>Position</dt>
              <dd className="tabular-nums">{shown.position ?? "not yet dispatched"}</dd>
              <dt>ID</dt>
              <dd>
                <code className="text-xs break-all">{shown.id}</code>
              </dd>
            </Details>
          </Card>
          <Deliveries deliveries={shown.deliveries} />
          <Card title="Body">
            {shown.body === null ? (
              <p className="text-sm text-muted-foreground">The body is no longer stored.</p>
            ) : (
              <CodeBlock text={JSON.stringify(shown.body, null, 2)} label="JSON" />
            )}
          </Card>
        </>
      )}
    </div>
  );
}

/** The deliveries of an event, one for each webhook. */
function Deliveries({ deliveries }: { deliveries: Delivery[] }) {
  const webhooks = useQuery(queries.webhooks.all);
  const urlOf = (id: string) => webhooks.data?.data.find((webhook) => webhook.id === id)?.url ?? id;
  return (
    <Card title="Deliveries">
      {deliveries.length === 0 ? (
        <p className="text-sm text-muted-foreground">
          No webhook receives this event: none that was active selects its type and has a filter that it matches.
        </p>
      ) : (
        <Table label="Deliveries" stacked>
          <Columns names={["Webhook", "Status", { right: "Attempts" }]} />
          <tbody>
            {deliveries.map((delivery) => (
              <tr key={delivery.id}>
                <td>
                  <Link to="/webhooks/deliveries/$id" params={{ id: delivery.id }} className={`${link} break-all`}>
                    {urlOf(delivery.webhookId)}
                  </Link>
                </td>
                <td>
                  <StatusBadge status={delivery.status} />
                  {delivery.status === "queued" && (
                    <span className="block pt-0.5 text-xs text-muted-foreground">
                      <Start delivery={delivery} />
                    </span>
                  )}
                </td>
                <td className="text-right tabular-nums">
                  <span className="text-muted-foreground sm:hidden">Attempts </span>
                  {delivery.attempts}
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
    </Card>
  );
}
