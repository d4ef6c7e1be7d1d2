import { Link } from "@tanstack/react-router";
import { Pencil, Printer } from "lucide-react";
import { memo } from "react";

import { Owed } from "@/components/owed";
import { orderedBy } from "@/domain/customers";
import {
  type Order,
  actionLabels,
  formatAge,
  fulfillments,
  isChangeable,
  nextStatus,
  payments,
  urgencyOf,
} from "@/domain/orders";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { ClockTime, Money, ShortTime } from "@/ui/format";
import { useNow } from "@/ui/now";
import { Badge } from "@/ui/page";

import { useDeviceSettings } from "./device";
import { PromiseMenu } from "./promise";
import { DeliveryMark } from "./connected-systems";
import { SincePrinted } from "./since-printed";
import type { Move } from "./step";
import { ItemLine } from "./tick";

type Props = {
  order: Order;
  /** Whether the service has not yet received the last step. */
  unsent: boolean;
  /** Whether the service has reminded the store that the order is not accepted. */
  reminded: boolean;
  onStep: (order: Order, move: Move) => void;
  onPrint: (order: Order) => void;
};

/** An open order on the board. */
export const OrderCard = memo(function OrderCard({ order, unsent, reminded, onStep, onPrint }: Props) {
  const payment = payments[order.paymentStatus];
  const next = nextStatus(order);
  const waiting = order.status === "RECEIVED";
  return (
    <article
      aria-label={`Order ${order.orderId}`}
      data-order={order.id}
      className={cn(
        "grid grid-cols-1 gap-2 rounded-md border bg-surface p-2 text-sm shadow-xs lg:p-3",
        "[contain-intrinsic-size:auto_12rem]",
        "[content-visibility:auto]",
        unsent && "border-dashed border-primary",
        waiting && reminded && "border-2 border-danger",
      )}
    >
      <div className="flex flex-wrap items-baseline justify-between gap-x-2">
        <Link
          to="/orders/$id"
          params={{ id: order.id }}
          className="text-base font-semibold underline-offset-4 hover:underline"
        >
          #{order.orderId}
        </Link>
        <Age order={order} />
      </div>
      <p className="break-words">
        {orderedBy(order)}
        {order.tableLabel && ` · Table ${order.tableLabel}`}
      </p>
      {waiting && reminded && <p className="text-xs font-semibold text-danger">Still waits for acceptance</p>}
      {order.requestedFor && (
        <p className="text-xs font-semibold">
          For <ShortTime at={order.requestedFor} />
        </p>
      )}
      {order.promisedAt !== order.requestedFor && (
        <p className="text-xs">
          Ready at <ClockTime at={order.promisedAt} />
        </p>
      )}
      <ul className="grid gap-0.5 text-xs text-muted-foreground">
        {order.items.map((item) => (
          <li key={item.id} className="grid">
            <ItemLine order={order} item={item} />
          </li>
        ))}
      </ul>
      <SincePrinted order={order} />
      {order.note && <p className="rounded bg-muted px-2 py-1 text-xs break-words whitespace-pre-wrap">{order.note}</p>}
      <div className="flex flex-wrap items-center gap-1">
        <Badge>{fulfillments[order.fulfillmentType]}</Badge>
        {order.channel && <Badge tone="accent">{order.channel}</Badge>}
        <Badge tone={payment.tone}>{payment.label}</Badge>
        <Owed order={order} />
        <DeliveryMark orderId={order.id} />
        <span className="ml-auto flex flex-wrap items-center justify-end">
          <span className="font-medium">
            <Money minor={order.totalMinor} currency={order.currency} />
          </span>
          <span className="flex flex-wrap justify-end">
            {waiting && next === "CONFIRMED" && (
              <PromiseMenu order={order} onChoose={(promisedAt) => onStep(order, { to: next, promisedAt })} />
            )}
            {isChangeable(order) && (
              <Button asChild variant="ghost" size="icon" className="size-8">
                <Link
                  to="/orders/$id/change"
                  params={{ id: order.id }}
                  aria-label={`Change order ${order.orderId}`}
                  title="Change the order"
                >
                  <Pencil />
                </Link>
              </Button>
            )}
            <Button
              variant="ghost"
              size="icon"
              className="size-8"
              aria-label={`Print the kitchen slip of order ${order.orderId}`}
              onClick={() => onPrint(order)}
            >
              <Printer />
            </Button>
          </span>
        </span>
      </div>
      {next && (
        <Button
          className="h-11 w-full px-2"
          data-step
          aria-label={`${actionLabels[next]} order ${order.orderId}`}
          onClick={(event) => {
            focusNeighbour(event.currentTarget);
            onStep(order, { to: next });
          }}
        >
          {actionLabels[next]}
        </Button>
      )}
    </article>
  );
});

/** The time since an order was placed. Its color and a word compare with the promised time. */
function Age({ order }: { order: Order }) {
  const now = useNow(30_000);
  const { warnMinutes } = useDeviceSettings();
  const urgency = urgencyOf(order.promisedAt, now, warnMinutes);
  return (
    <time
      dateTime={order.createdAt}
      data-urgency={urgency}
      className={cn(
        "ml-auto rounded px-1 text-xs whitespace-nowrap tabular-nums",
        { normal: "text-muted-foreground", soon: "font-semibold text-warning", late: "bg-danger text-background" }[
          urgency
        ],
      )}
    >
      {formatAge(order.createdAt, now)}
      {urgency === "late" && <span className="font-semibold"> late</span>}
    </time>
  );
}

/**
 * Moves the focus from a card that is about to leave its column to the next card, otherwise to the previous card or
 * the heading of the column. Without this it would fall to the body.
 */
function focusNeighbour(button: HTMLElement) {
  const card = button.closest("article");
  const buttonOf = (neighbour?: Element | null) => neighbour?.querySelector<HTMLElement>("[data-step]");
  const target =
    buttonOf(card?.nextElementSibling) ??
    buttonOf(card?.previousElementSibling) ??
    card?.closest("section")?.querySelector<HTMLElement>("h2");
  target?.focus({ preventScroll: true });
}
