import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { Button } from "@/ui/button";
import { Time } from "@/ui/format";
import { Columns, Empty, PageHeader, QueryState, Table } from "@/ui/page";

import { CreateDialog } from "./create";
import { useWebhooks } from "./data";
import { healthOf } from "./health";
import { Spark } from "./spark";
import { HealthBadge } from "./status";

export function WebhooksPage() {
  const webhooks = useWebhooks();
  const [creating, setCreating] = useState(false);
  const all = webhooks.data?.data;
  const create = <Button onClick={() => setCreating(true)}>Create a webhook</Button>;
  return (
    <>
      <PageHeader title="Webhooks" about="Servers of yours that are told what happens in this store, within seconds, until they say that they have understood." actions={create} />
      <QueryState of={webhooks} />
      {all?.length === 0 && (
        <Empty title="Your first webhook in one minute">
          <ol className="list-inside list-decimal text-left">
            <li>Create one with the https address of your server, and keep the secret that you are shown.</li>
            <li>Send it a test from its page.</li>
            <li>See the test arrive: its request and your server's answer are on that page, word for word.</li>
          </ol>
          {create}
        </Empty>
      )}
      {all && all.length > 0 && (
        <Table label="Webhooks">
          <Columns names={["Receiver", "Health", "Last delivery", "Last 24 hours"]} />
          <tbody>
            {all.map((webhook) => (
              <tr key={webhook.id} className="hover:bg-muted/50">
                <td className="min-w-56">
                  <Link to="/webhooks/$id" params={{ id: webhook.id }} className="font-medium break-all text-primary underline-offset-4 hover:underline">
                    {webhook.url}
                  </Link>
                  <span className="block text-xs text-muted-foreground" title={webhook.events.join(", ")}>
                    {webhook.events.length === 1 ? webhook.events[0] : `${webhook.events.length} types of events`}
                  </span>
                </td>
                <td className="min-w-44">
                  <HealthBadge health={healthOf(webhook, webhooks.data!.meta.watchdogDays)} />
                </td>
                <td>
                  <Time at={webhook.lastDeliveryAt} />
                </td>
                <td>
                  <Spark id={webhook.id} />
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
