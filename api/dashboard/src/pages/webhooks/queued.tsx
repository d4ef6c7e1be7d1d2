import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { queries } from "@/api/queries";
import { link } from "@/ui/link";
import { Card, Columns, Failure, Table } from "@/ui/page";

import { Start } from "./start";

/** The newest queued deliveries of a webhook, for example those that wait for their turn. Empty if there are none. */
export function Queued({ webhookId }: { webhookId: string }) {
  const queued = useQuery(queries.webhooks.queued(webhookId));
  const rows = queued.data ?? [];
  if (queued.error) return <Failure error={queued.error} retry={() => void queued.refetch()} />;
  if (rows.length === 0) return null;
  return (
    <Card title="Newest queued deliveries">
      <Table label="Queued deliveries" stacked>
        <Columns names={["Event", "Start"]} />
        <tbody>
          {rows.map((delivery) => (
            <tr key={delivery.id}>
              <td>
                <Link to="/webhooks/deliveries/$id" params={{ id: delivery.id }} className={link}>
                  <code className="text-xs">{delivery.eventType}</code>
                </Link>
              </td>
              <td>
                <Start delivery={delivery} />
              </td>
            </tr>
          ))}
        </tbody>
      </Table>
    </Card>
  );
}
