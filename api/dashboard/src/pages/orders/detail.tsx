import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useState } from "react";

import { api, data } from "@/api/client";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { Select } from "@/ui/field";
import { Money, Time } from "@/ui/format";
import { Badge, Card, Failure, Loading, PageHeader, Table } from "@/ui/page";

import { CancelDialog, NextStep, useChangeStatus } from "./change";
import { useLiveOrders } from "./live";
import { Payments } from "./payments";
import { type Order, type Status, deeds, fulfillments, laterOf, payments, sources, statusTone, statuses } from "./status";
import { Totals } from "./totals";

const route = getRouteApi("/inside/orders/$id");

export function OrderPage() {
  const { id } = route.useParams();
  const { refetchInterval } = useLiveOrders();
  const order = useQuery({ queryKey: ["orders", "one", id], queryFn: () => data(api.GET("/orders/{id}", { params: { path: { id } } })), refetchInterval });
  const [cancelling, setCancelling] = useState(false);
  return (
    <>
      <Link to="/orders" className="mb-2 inline-block text-sm text-primary underline-offset-4 hover:underline">
        Orders
      </Link>
      <Failure error={order.error} retry={() => void order.refetch()} className="mb-4" />
      {order.isPending && <Loading />}
      {order.data && (
        <>
          <PageHeader
            title={
              <span className="flex flex-wrap items-center gap-2">
                Order {order.data.orderId} <Badge tone={statusTone(order.data.status)}>{statuses[order.data.status]}</Badge>
              </span>
            }
            about={
              <>
                {fulfillments[order.data.fulfillmentType]} · {sources[order.data.source]} · <Time at={order.data.createdAt} />
              </>
            }
            actions={
              <>
                {order.data.allowedTransitions.includes("CANCELLED") && (
                  <Button variant="danger" onClick={() => setCancelling(true)}>
                    Cancel
                  </Button>
                )}
                <Skip order={order.data} />
                <NextStep order={order.data} />
              </>
            }
          />
          <div className="grid items-start gap-4 lg:grid-cols-[2fr_1fr]">
            <div className="grid min-w-0 gap-4 [&>*]:min-w-0">
              <Items order={order.data} />
              <Payments order={order.data} refetchInterval={refetchInterval} />
            </div>
            <div className="grid min-w-0 gap-4 [&>*]:min-w-0">
              <Guest order={order.data} />
              <History order={order.data} />
            </div>
          </div>
          {cancelling && <CancelDialog order={order.data} onClose={() => setCancelling(false)} />}
        </>
      )}
    </>
  );
}

/** Steps may be left out. */
function Skip({ order }: { order: Order }) {
  const change = useChangeStatus();
  const later = laterOf(order);
  if (later.length === 0) return null;
  return (
    <Select
      aria-label="Skip to a later status"
      className="w-auto"
      value=""
      disabled={change.isPending}
      onChange={(event) => change.mutate({ order, status: event.target.value as Status })}
    >
      <option value="" disabled>
        Skip to…
      </option>
      {later.map((status) => (
        <option key={status} value={status}>
          {deeds[status]}
        </option>
      ))}
    </Select>
  );
}

function Items({ order }: { order: Order }) {
  return (
    <Card title="Items" actions={<Badge tone={payments[order.paymentStatus].tone}>{payments[order.paymentStatus].label}</Badge>}>
      <Table label="Items">
        <thead>
          <tr>
            <th>Product</th>
            <th className="text-right!">Quantity</th>
            <th className="text-right!">Price</th>
            <th className="text-right!">Total</th>
          </tr>
        </thead>
        <tbody>
          {order.items.map((item, i) => (
            <tr key={i}>
              <td className="break-words">{item.productName}</td>
              <td className="text-right tabular-nums">{item.quantity}</td>
              <td className="text-right">
                <Money minor={item.unitPriceMinor} currency={order.currency} />
              </td>
              <td className="text-right">
                <Money minor={item.totalMinor} currency={order.currency} />
              </td>
            </tr>
          ))}
        </tbody>
      </Table>
      <div className="mt-4 ml-auto max-w-72">
        <Totals of={order} />
      </div>
    </Card>
  );
}

function Guest({ order }: { order: Order }) {
  const { atLeast } = useSession();
  const { customer, deliveryAddress: to } = order;
  return (
    <Card title="Guest">
      <div className="grid gap-3 text-sm break-words">
        <div>
          {atLeast("MANAGER") ? (
            <Link to="/customers/$id" params={{ id: customer.id }} className="font-medium text-primary underline-offset-4 hover:underline">
              {customer.name}
            </Link>
          ) : (
            <span className="font-medium">{customer.name}</span>
          )}
          {customer.phone && (
            <a href={`tel:${customer.phone}`} className="block hover:underline">
              {customer.phone}
            </a>
          )}
          {customer.email && (
            <a href={`mailto:${encodeURIComponent(customer.email)}`} className="block hover:underline">
              {customer.email}
            </a>
          )}
        </div>
        {to && (
          <address className="not-italic">
            {[to.line1, to.line2, `${to.postalCode ?? ""} ${to.city}`.trim(), to.region, to.country].filter(Boolean).map((line, i) => (
              <span key={i} className="block">
                {line}
              </span>
            ))}
            {to.notes && <span className="mt-1 block text-muted-foreground">{to.notes}</span>}
          </address>
        )}
        {order.note && <p className="rounded-md bg-muted p-2 whitespace-pre-wrap">{order.note}</p>}
        {order.cancellationReason && (
          <p className="rounded-md border border-danger/40 p-2">
            <span className="font-medium text-danger">Cancelled:</span> {order.cancellationReason}
          </p>
        )}
      </div>
    </Card>
  );
}

const realms: Record<string, string> = { tenant: "by a user", "api-key": "by an API key", customer: "by the customer" };

function History({ order }: { order: Order }) {
  const { user } = useSession();
  const history = useQuery({
    queryKey: ["orders", "history", order.id, order.version],
    queryFn: () => data(api.GET("/orders/{id}/history", { params: { path: { id: order.id } } })),
    placeholderData: (before) => before,
  });
  return (
    <Card title="History">
      <Failure error={history.error} retry={() => void history.refetch()} />
      {history.isPending && <Loading />}
      <ol className="grid gap-3">
        {history.data?.map((change) => (
          <li key={change.eventId} className="border-l-2 pl-3 text-sm">
            <span className="font-medium">{statuses[change.to]}</span>
            <span className="block text-xs text-muted-foreground">
              <Time at={change.at} seconds /> {change.actor.id === user.id ? "by you" : realms[change.actor.realm ?? ""]}
            </span>
            {change.reason && <span className="block text-xs break-words">{change.reason}</span>}
          </li>
        ))}
      </ol>
    </Card>
  );
}
