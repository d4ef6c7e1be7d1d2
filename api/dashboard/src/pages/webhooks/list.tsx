import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useQuery } from "@tanstack/react-query";

import { queries } from "@/api/queries";
import { eventsLabel } from "@/domain/webhooks";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { Time } from "@/ui/format";
import { link } from "@/ui/link";
import { Columns, Empty, PageHeader, QueryState, Table } from "@/ui/page";

import { CreateDialog } from "./create";
import { healthOf } from "./health";
import { Sparkline } from "./sparkline";
import { HealthBadge } from "./status";

export function WebhooksPage() {
  const webhooks = useQuery(queries.webhooks.all);
  const [creating, setCreating] = useState(false);
  const all = webhooks.data?.data;
  const create = <Button onClick={() => setCreating(true)}>Create webhook</Button>;
  return (
    <>
      <PageHeader
        title="Webhooks"
        about="A webhook sends the events of this store to your server, with retries."
        actions={
          <>
            <Button asChild variant="outline">
              <Link to="/webhooks/events">Events</Link>
            </Button>
            {create}
          </>
        }
      />
      <QueryState query={webhooks} />
      {all?.length === 0 && (
        <Empty title="No webhooks yet">
          <ol className="list-inside list-decimal text-left">
            <li>Create a webhook with the HTTPS URL of your server, and store its secret.</li>
            <li>Send a test from the page of the webhook.</li>
            <li>Check the request and your server's response on that page.</li>
          </ol>
          {create}
        </Empty>
      )}
      {all && all.length > 0 && (
        <Table label="Webhooks" stacked>
          <Columns names={["URL", "Health", "Last delivery", "Last 24 hours"]} />
          <tbody>
            {all.map((webhook) => (
              <tr key={webhook.id} className="hover:bg-muted/50">
                <td className="min-w-56">
                  <Link to="/webhooks/$id" params={{ id: webhook.id }} className={cn(link, "font-medium break-all")}>
                    {webhook.url}
                  </Link>
                  {webhook.description && <span className="block">{webhook.description}</span>}
                  <span className="block text-xs text-muted-foreground" title={webhook.events.join(", ")}>
                    {eventsLabel(webhook.events)}
                  </span>
                </td>
                <td className="min-w-44">
                  <HealthBadge health={healthOf(webhook, webhooks.data!.meta.watchdogDays)} />
                </td>
                <td>
                  <Time at={webhook.lastDeliveryAt} />
                </td>
                <td>
                  <Sparkline id={webhook.id} />
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      {creating && <CreateDialog onClose={() => setCreating(false)} />}
    </>
  );
}
