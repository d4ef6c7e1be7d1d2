import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";

import { queries } from "@/api/queries";
import { isSubscribable, namedEvents } from "@/domain/webhooks";
import { SelectField } from "@/ui/field";
import { Time } from "@/ui/format";
import { link } from "@/ui/link";
import { ShowMore, useList } from "@/ui/list";
import { Columns, Empty, PageHeader, QueryState, Table } from "@/ui/page";

import { ResourceLink } from "./resource-link";

const route = getRouteApi("/inside/webhooks/events");

/** The events of the store, newest first, whether or not a webhook receives them. */
export function EventsPage() {
  const { type } = route.useSearch();
  const navigate = useNavigate();
  const catalogue = useQuery(queries.eventTypes);
  const types = namedEvents((catalogue.data ?? []).filter(isSubscribable).map(({ name }) => name));
  const events = useList(queries.webhooks.events({ type: types.filter((name) => name === type) }), {
    refetchInterval: 10_000,
  });
  return (
    <>
      <Link to="/webhooks" className="text-sm text-muted-foreground hover:text-foreground">
        ← Webhooks
      </Link>
      <PageHeader title="Events" about="The changes of this store in the order in which webhooks receive them." />
      <SelectField
        label="Event"
        className="mb-4 w-52"
        value={type ?? ""}
        onChange={({ target }) =>
          void navigate({ to: "/webhooks/events", search: { type: target.value || undefined }, replace: true })
        }
      >
        <option value="">Any</option>
        {types.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </SelectField>
      <QueryState query={events} />
      {events.data && events.rows.length === 0 && (
        <Empty title="No events">
          <p>An event appears here when an order, a payment, a customer, a product or a reservation changes.</p>
        </Empty>
      )}
      {events.rows.length > 0 && (
        <Table label="Events" stacked>
          <Columns names={["Time", "Event", "Resource", { right: "Position" }]} />
          <tbody>
            {events.rows.map((event) => (
              <tr key={event.id} className="hover:bg-muted/50">
                <td>
                  <Time at={event.timestamp} seconds />
                </td>
                <td>
                  <Link to="/webhooks/events/$id" params={{ id: event.id }} className={link}>
                    <code className="text-xs">{event.type}</code>
                  </Link>
                </td>
                <td>
                  <ResourceLink resource={event.resource} />
                </td>
                <td className="text-right tabular-nums">
                  <span className="text-muted-foreground sm:hidden">Position </span>
                  {event.position ?? "–"}
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      <ShowMore list={events} />
    </>
  );
}
