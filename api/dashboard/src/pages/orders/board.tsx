import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { api } from "@/api/client";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { Money } from "@/ui/format";
import { More, useList } from "@/ui/more";
import { Badge, Empty, QueryState } from "@/ui/page";

import { NextStep } from "./change";
import { useNow } from "./live";
import { type Order, ago, columnsOf, fulfillments, open, payments, statuses } from "./status";

/** The open orders by status: columns, and on a phone one of them at a time. */
export function Board({ refetchInterval }: { refetchInterval?: number }) {
  const orders = useList<Order>(["orders", "board"], (cursor) => api.GET("/orders", { params: { query: { status: [...open], cursor, limit: 100 } } }), {
    refetchInterval,
  });
  const [column, setColumn] = useState<(typeof open)[number]>("RECEIVED");
  const now = useNow();
  const columns = columnsOf(orders.rows);
  return (
    <>
      <QueryState of={orders} className="mb-4" />
      {orders.data && orders.rows.length === 0 && (
        <Empty title="No open orders">
          <p>New ones show here the moment they are placed: by you, by your shop through the API, or on the phone.</p>
          <Button asChild variant="outline">
            <Link to="/orders/new">Take an order by hand</Link>
          </Button>
        </Empty>
      )}
      {orders.rows.length > 0 && (
        <>
          <div className="mb-3 flex gap-1 overflow-x-auto pb-1 lg:hidden" role="group" aria-label="Status">
            {open.map((status) => (
              <Button key={status} size="small" variant={status === column ? "primary" : "outline"} aria-pressed={status === column} onClick={() => setColumn(status)}>
                {statuses[status]} <span className="tabular-nums">{columns[status].length}</span>
              </Button>
            ))}
          </div>
          <div className="grid gap-3 lg:grid-cols-5">
            {open.map((status) => (
              <section key={status} aria-label={statuses[status]} className={cn("min-w-0 content-start gap-2 rounded-lg bg-muted/60 p-2 lg:grid", status === column ? "grid" : "hidden")}>
                <h2 className="flex justify-between px-1 text-sm font-semibold">
                  {statuses[status]} <span className="font-normal text-muted-foreground tabular-nums">{columns[status].length}</span>
                </h2>
                {columns[status].length === 0 && <p className="p-3 text-center text-xs text-muted-foreground">Nothing here</p>}
                {columns[status].map((order) => (
                  <Slip key={order.id} order={order} now={now} />
                ))}
              </section>
            ))}
          </div>
        </>
      )}
      <More list={orders} />
    </>
  );
}

const lines = 5;

function Slip({ order, now }: { order: Order; now: number }) {
  const payment = payments[order.paymentStatus];
  return (
    <article aria-label={`Order ${order.orderId}`} className="grid gap-2 rounded-md border bg-surface p-3 text-sm shadow-xs">
      <div className="flex items-baseline justify-between gap-2">
        <Link to="/orders/$id" params={{ id: order.id }} className="text-base font-semibold underline-offset-4 hover:underline">
          #{order.orderId}
        </Link>
        <time dateTime={order.createdAt} className="text-xs whitespace-nowrap text-muted-foreground tabular-nums">
          {ago(order.createdAt, now)}
        </time>
      </div>
      <p className="truncate" title={order.customer.name}>
        {order.customer.name}
      </p>
      <ul className="grid gap-0.5 text-xs text-muted-foreground">
        {order.items.slice(0, lines).map((item, i) => (
          <li key={i} className="flex gap-1.5">
            <span className="font-medium text-foreground tabular-nums">{item.quantity}×</span>
            <span className="min-w-0 break-words">{item.productName}</span>
          </li>
        ))}
        {order.items.length > lines && <li>and {order.items.length - lines} more</li>}
      </ul>
      {order.note && <p className="line-clamp-3 rounded bg-muted px-2 py-1 text-xs break-words">{order.note}</p>}
      <div className="flex flex-wrap items-center gap-1">
        <Badge>{fulfillments[order.fulfillmentType]}</Badge>
        <Badge tone={payment.tone}>{payment.label}</Badge>
        <span className="ml-auto font-medium">
          <Money minor={order.totalMinor} currency={order.currency} />
        </span>
      </div>
      <NextStep order={order} size="small" />
    </article>
  );
}
