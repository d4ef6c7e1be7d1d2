import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { ChevronDown, Printer } from "lucide-react";
import { useState } from "react";

import { queries } from "@/api/queries";
import { Settlement } from "@/components/owed";
import { Totals } from "@/components/totals";
import { orderedBy } from "@/domain/customers";
import {
  type Order,
  actionLabels,
  actorLabel,
  channelOf,
  describeFields,
  describeItemChange,
  fulfillments,
  isChangeable,
  isOpen,
  laterStatuses,
  payments,
  statusTone,
  statuses,
} from "@/domain/orders";
import { useSession } from "@/session/session";
import { addressLines } from "@/ui/address";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { ClockTime, Money, Time } from "@/ui/format";
import { link } from "@/ui/link";
import { ShowMore, useList } from "@/ui/list";
import { Menu, MenuItem } from "@/ui/menu";
import { Badge, Card, Columns, PageHeader, QueryState, Table } from "@/ui/page";

import { CancelDialog, NextStep, useStep } from "./change";
import { ItemDetails, ItemName } from "./item";
import { useLiveOrders } from "./live";
import { Payments } from "./payments";
import { usePrint } from "./print";
import { SincePrinted } from "./since-printed";
import { ConnectedSystems } from "./connected-systems";

const route = getRouteApi("/inside/orders/$id");

export function OrderPage() {
  const { id } = route.useParams();
  const { refetchInterval } = useLiveOrders();
  const order = useQuery({ ...queries.orders.one(id), refetchInterval });
  const [cancelling, setCancelling] = useState(false);
  return (
    <>
      <Link to="/orders" className={cn(link, "mb-2 inline-block text-sm")}>
        Orders
      </Link>
      <QueryState query={order} className="mb-4" />
      {order.data && (
        <>
          <PageHeader
            name={`Order ${order.data.orderId}`}
            title={
              <span className="flex flex-wrap items-center gap-2">
                Order {order.data.orderId}{" "}
                <Badge tone={statusTone(order.data.status)}>{statuses[order.data.status]}</Badge>
              </span>
            }
            about={
              <>
                {fulfillments[order.data.fulfillmentType]} · {channelOf(order.data)} ·{" "}
                <Time at={order.data.createdAt} /> · Ready at <ClockTime at={order.data.promisedAt} />
              </>
            }
            actions={
              <>
                {order.data.allowedTransitions.includes("CANCELLED") && (
                  <Button variant="danger" onClick={() => setCancelling(true)}>
                    Cancel
                  </Button>
                )}
                {isChangeable(order.data) && (
                  <Button asChild variant="outline">
                    <Link to="/orders/$id/change" params={{ id }}>
                      Change
                    </Link>
                  </Button>
                )}
                <PrintMenu order={order.data} />
                <Skip order={order.data} />
                <NextStep order={order.data} />
              </>
            }
          />
          <div className="grid items-start gap-4 lg:grid-cols-[2fr_1fr]">
            <div className="grid min-w-0 gap-4 [&>*]:min-w-0">
              {isOpen(order.data) && <SincePrinted order={order.data} />}
              <Items order={order.data} />
              <Payments order={order.data} refetchInterval={refetchInterval} />
            </div>
            <div className="grid min-w-0 gap-4 [&>*]:min-w-0">
              <Guest order={order.data} />
              <ConnectedSystems orderId={id} refetchInterval={refetchInterval} />
              <History order={order.data} />
            </div>
          </div>
          {cancelling && <CancelDialog order={order.data} onClose={() => setCancelling(false)} />}
        </>
      )}
    </>
  );
}

function PrintMenu({ order }: { order: Order }) {
  const print = usePrint();
  return (
    <Menu
      label="Print"
      trigger={
        <Button variant="outline">
          <Printer aria-hidden /> Print <ChevronDown aria-hidden />
        </Button>
      }
    >
      <MenuItem onSelect={() => print([{ order, kind: "slip" }])}>Kitchen slip</MenuItem>
      <MenuItem onSelect={() => print([{ order, kind: "receipt" }])}>Receipt</MenuItem>
    </Menu>
  );
}

/** Moves an order to a later status and skips the statuses between. */
function Skip({ order }: { order: Order }) {
  const { isPending, step, question } = useStep(order);
  const later = laterStatuses(order);
  if (later.length === 0) return null;
  return (
    <>
      <Menu
        label="Skip to a later status"
        trigger={
          <Button variant="outline" busy={isPending}>
            Skip to… <ChevronDown aria-hidden />
          </Button>
        }
      >
        {later.map((status) => (
          <MenuItem key={status} onSelect={() => step(status)}>
            {actionLabels[status]}
          </MenuItem>
        ))}
      </Menu>
      {question}
    </>
  );
}

function Items({ order }: { order: Order }) {
  return (
    <Card
      title="Items"
      actions={<Badge tone={payments[order.paymentStatus].tone}>{payments[order.paymentStatus].label}</Badge>}
    >
      <Table label="Items" stacked>
        <Columns names={["Product", { right: "Quantity" }, { right: "Price" }, { right: "Total" }]} />
        <tbody>
          {order.items.map((item, i) => (
            <tr key={i}>
              <td className="break-words">
                <ItemName item={item} viewId={order.storeViewId} />
                <ItemDetails item={item} viewId={order.storeViewId} />
                {item.productId === null && (
                  <span className="block text-xs text-muted-foreground">Not on the menu</span>
                )}
              </td>
              <td className="text-right tabular-nums">
                <span className="sm:hidden">Quantity: </span>
                {item.quantity}
              </td>
              <td className="text-right">
                <span className="sm:hidden">Price: </span>
                <Money minor={item.unitPriceMinor} currency={order.currency} />
              </td>
              <td className="text-right">
                <span className="sm:hidden">Total: </span>
                <Money minor={item.totalMinor} currency={order.currency} />
              </td>
            </tr>
          ))}
        </tbody>
      </Table>
      <div className="mt-4 ml-auto max-w-72">
        <Totals amounts={order} />
        <Settlement order={order} />
      </div>
    </Card>
  );
}

function Guest({ order }: { order: Order }) {
  const { atLeast, locale } = useSession();
  const { customer, deliveryAddress: to } = order;
  return (
    <Card title="Guest">
      <div className="grid gap-3 text-sm break-words">
        <div>
          {customer.id && atLeast("MANAGER") ? (
            <Link to="/customers/$id" params={{ id: customer.id }} className={cn(link, "font-medium")}>
              {orderedBy(order)}
            </Link>
          ) : (
            <span className="font-medium">{orderedBy(order)}</span>
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
            {addressLines(to, locale).map((line, i) => (
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

function History({ order }: { order: Order }) {
  const { user } = useSession();
  const history = useList(queries.orders.history(order.id, order.version));
  return (
    <Card title="History">
      <QueryState query={history} />
      <ol className="grid gap-3">
        {history.rows.map((change) => (
          <li key={change.eventId} className="border-l-2 pl-3 text-sm">
            <span className="font-medium">
              {change.to ? statuses[change.to] : describeFields(change.changedFields ?? [])}
            </span>
            <span className="block text-xs text-muted-foreground">
              <Time at={change.at} seconds /> {change.actor.id === user.id ? "by you" : actorLabel(change.actor)}
            </span>
            {change.reason && <span className="block text-xs break-words">{change.reason}</span>}
            {change.itemChanges?.map((item) => (
              <span key={item.itemId} className="block text-xs break-words">
                {describeItemChange(item)}
              </span>
            ))}
          </li>
        ))}
      </ol>
      <ShowMore list={history} />
    </Card>
  );
}
