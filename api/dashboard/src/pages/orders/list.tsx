import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";

import { queries } from "@/api/queries";
import { Owed } from "@/components/owed";
import { orderedBy } from "@/domain/customers";
import { channelOf, fulfillments, payments, sources, statuses, statusTone } from "@/domain/orders";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { Checkbox, Input } from "@/ui/field";
import { Filter } from "@/ui/filter";
import { Money, Time } from "@/ui/format";
import { link } from "@/ui/link";
import { ShowMore, useList } from "@/ui/list";
import { Badge, Columns, Empty, QueryState, Table } from "@/ui/page";
import { SearchField } from "@/ui/search";

import { ExportOrders } from "./export";
import type { OrdersSearch } from "./search";

const route = getRouteApi("/inside/orders");

/** All orders, newest first, with search and filters. */
export function OrderList({ refetchInterval }: { refetchInterval?: number }) {
  const { view: _, ...filters } = route.useSearch();
  const navigate = useNavigate();
  const { day, status, refund, ...same } = filters;
  const query = { ...same, status: status && [status], businessDate: day, needsRefund: refund };
  const orders = useList(queries.orders.list({ ...query, limit: 50 }), { refetchInterval });
  const set = (change: Partial<OrdersSearch>) =>
    void navigate({ to: "/orders", search: { view: "all", ...filters, ...change }, replace: true });
  const filtered = Object.values(filters).some((value) => value !== undefined);
  return (
    <>
      <div className="mb-2 grid grid-cols-2 gap-2 lg:grid-cols-[2fr_1fr_1fr_1fr_1fr]">
        <SearchField
          className="col-span-2 lg:col-span-1"
          label="Number, name, email or phone"
          value={filters.q ?? ""}
          onSearch={(q) => set({ q: q || undefined })}
        />
        <Filter
          label="Status"
          all="Any status"
          value={status}
          options={statuses}
          onChange={(next) => set({ status: next })}
        />
        <Filter
          label="Fulfilment"
          all="Any fulfilment"
          value={filters.fulfillmentType}
          options={fulfillments}
          onChange={(next) => set({ fulfillmentType: next })}
        />
        <Filter
          label="Source"
          all="Any source"
          value={filters.source}
          options={sources}
          onChange={(next) => set({ source: next })}
        />
        <Input
          type="date"
          aria-label="Business day"
          value={day ?? ""}
          onChange={(event) => set({ day: event.target.value || undefined })}
        />
      </div>
      <div className="mb-2 flex items-center justify-between gap-2">
        <Checkbox
          label="Needs refund"
          className="h-9 items-center whitespace-nowrap"
          checked={refund ?? false}
          onChange={(event) => set({ refund: event.target.checked || undefined })}
        />
        {orders.rows.length > 0 && <ExportOrders query={query} />}
      </div>
      <QueryState query={orders} className="mb-4" />
      {orders.data && orders.rows.length === 0 && (
        <Empty title={filtered ? "No orders match these filters" : "No orders yet"}>
          {filtered ? (
            <Button variant="outline" onClick={() => void navigate({ to: "/orders", search: { view: "all" } })}>
              Clear filters
            </Button>
          ) : (
            <p>Every order placed in this store appears here.</p>
          )}
        </Empty>
      )}
      {orders.rows.length > 0 && (
        <Table label="Orders" stacked>
          <Columns names={["Order", "Status", "Customer", "Placed", "Payment", { right: "Total" }]} />
          <tbody>
            {orders.rows.map((order) => (
              <tr key={order.id} className="hover:bg-muted/50">
                <td>
                  <Link to="/orders/$id" params={{ id: order.id }} className={cn(link, "font-medium")}>
                    #{order.orderId}
                  </Link>
                  <span className="block text-xs whitespace-nowrap text-muted-foreground">
                    {fulfillments[order.fulfillmentType]} · {channelOf(order)}
                  </span>
                </td>
                <td>
                  <Badge tone={statusTone(order.status)}>{statuses[order.status]}</Badge>
                </td>
                <td className="max-w-56">
                  <span className="block truncate" title={orderedBy(order)}>
                    {orderedBy(order)}
                  </span>
                  <span
                    className="block truncate text-xs text-muted-foreground"
                    title={order.customer.phone || order.customer.email || undefined}
                  >
                    {order.customer.phone || order.customer.email}
                  </span>
                </td>
                <td>
                  <Time at={order.createdAt} />
                </td>
                <td>
                  <Badge tone={payments[order.paymentStatus].tone}>{payments[order.paymentStatus].label}</Badge>
                  <Owed order={order} className="block" />
                </td>
                <td className="text-right">
                  <Money minor={order.totalMinor} currency={order.currency} />
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      <ShowMore list={orders} />
    </>
  );
}
