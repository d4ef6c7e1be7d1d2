import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Maximize2 } from "lucide-react";
import { useCallback, useEffect, useMemo, useState } from "react";

import { maxOpen } from "@/api/open-orders";
import { queries } from "@/api/queries";
import { orderedBy } from "@/domain/customers";
import {
  type OpenStatus,
  type Order,
  columnsOf,
  fulfillments,
  isScheduled,
  openStatuses,
  statuses,
} from "@/domain/orders";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { ShortTime } from "@/ui/format";
import { useNow } from "@/ui/now";
import { Empty, QueryState } from "@/ui/page";

import { OrderCard } from "./card";
import { CompleteUnpaidDialog } from "./change";
import { changeDeviceSettings, useDeviceSettings } from "./device";
import { useLiveOrders } from "./live";
import { usePrint } from "./print";
import { Shortcuts } from "./shortcuts";
import { type Move, type Steps, afterSteps } from "./step";
import { UndoBar, useSteps } from "./steps";

/** The open orders in columns by status. Phones show one column at a time. */
export function Board() {
  const orders = useQuery(queries.openOrders);
  const { steps, take, undoLast, sendAll } = useSteps();
  const { reminders } = useLiveOrders();
  const reminded = useMemo(() => new Set(reminders.map(({ id }) => id)), [reminders]);
  const [shown, setShown] = useState<OpenStatus>("RECEIVED");
  const [unpaid, setUnpaid] = useState<Order | null>(null);
  const now = useNow(30_000);
  const { big } = useDeviceSettings();
  const { columns, scheduled } = useMemo(() => {
    const all = withSteps(orders.data ?? [], steps);
    const later = (order: Order) => isScheduled(order, now);
    return { columns: columnsOf(all.filter((order) => !later(order))), scheduled: all.filter(later) };
  }, [orders.data, steps, now]);
  useBigView(big);
  useEffect(() => sendAll, [sendAll]); // the undo bar disappears with the board
  const print = usePrint();
  const onPrint = useCallback((order: Order) => print([{ order, kind: "slip" }]), [print]);
  const onStep = useCallback(
    (order: Order, move: Move) => {
      if (move.to === "COMPLETED" && order.outstandingMinor > 0) setUnpaid(order);
      else take(order, move);
    },
    [take],
  );
  return (
    <>
      <div className="mb-3 flex justify-end gap-2">
        <Shortcuts
          undoLast={undoLast}
          print={(id) => {
            const order = orders.data?.find((one) => one.id === id);
            if (order) onPrint(order);
          }}
        />
        <Button variant="outline" aria-pressed={big} onClick={() => changeDeviceSettings({ big: !big })}>
          <Maximize2 aria-hidden /> {big ? "Leave big view" : "Big view"}
        </Button>
      </div>
      <QueryState query={orders} className="mb-4" />
      {orders.data && orders.data.length >= maxOpen && (
        <p role="alert" className="mb-4 rounded-md border border-warning/40 p-3 text-sm text-warning">
          The board shows the newest {maxOpen} open orders. Complete or cancel orders that are done; older ones are in
          “All orders”.
        </p>
      )}
      {orders.data?.length === 0 && (
        <Empty title="No open orders">
          <p>Orders appear here as soon as they are placed in your shop, through the API or by your team.</p>
          <Button asChild variant="outline">
            <Link to="/orders/new">New order</Link>
          </Button>
        </Empty>
      )}
      {orders.data && orders.data.length > 0 && (
        <>
          <Scheduled orders={scheduled} />
          <div className="mb-3 flex gap-1 overflow-x-auto pb-1 sm:hidden" role="group" aria-label="Status">
            {openStatuses.map((status) => (
              <Button
                key={status}
                className="h-11 px-3"
                variant={status === shown ? "primary" : "outline"}
                aria-pressed={status === shown}
                onClick={() => setShown(status)}
              >
                {statuses[status]} <span className="tabular-nums">{columns[status].length}</span>
              </Button>
            ))}
          </div>
          <div
            className={cn(
              "grid items-start gap-2 sm:grid-cols-[repeat(5,minmax(8.5rem,1fr))]",
              "sm:overflow-x-auto lg:gap-3",
            )}
          >
            {openStatuses.map((status) => (
              <Column
                key={status}
                status={status}
                orders={columns[status]}
                steps={steps}
                reminded={reminded}
                hidden={status !== shown}
                onStep={onStep}
                onPrint={onPrint}
              />
            ))}
          </div>
        </>
      )}
      <UndoBar />
      {unpaid && (
        <CompleteUnpaidDialog
          order={unpaid}
          onClose={() => setUnpaid(null)}
          onConfirm={() => {
            setUnpaid(null);
            take(unpaid, { to: "COMPLETED" });
          }}
        />
      )}
    </>
  );
}

/** The lane of the orders for later, the next one first. They move to the columns when their preparation is due. */
function Scheduled({ orders }: { orders: Order[] }) {
  if (orders.length === 0) return null;
  const sorted = orders.toSorted((a, b) => Date.parse(a.requestedFor!) - Date.parse(b.requestedFor!));
  return (
    <section aria-label="Scheduled" className="mb-3 rounded-lg bg-muted/60 p-2">
      <h2 className="mb-2 flex gap-2 px-1 text-sm font-semibold">
        Scheduled <span className="font-normal text-muted-foreground tabular-nums">{orders.length}</span>
      </h2>
      <ul className="flex gap-2 overflow-x-auto">
        {sorted.map((order) => (
          <li key={order.id}>
            <Link
              to="/orders/$id"
              params={{ id: order.id }}
              className="block min-w-36 rounded-md border bg-surface p-2 text-sm hover:bg-muted"
            >
              <span className="font-semibold">#{order.orderId}</span> <ShortTime at={order.requestedFor!} />
              <span className="block break-words">{orderedBy(order)}</span>
              <span className="block text-xs text-muted-foreground">
                {fulfillments[order.fulfillmentType]} · {statuses[order.status]}
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Fills the screen with the board and keeps the screen on. The frame of the page hides its menu. */
function useBigView(big: boolean) {
  useEffect(() => {
    if (!big) return;
    document.documentElement.classList.add("big");
    let lock: WakeLockSentinel | undefined;
    let left = false;
    // Not every browser has wake locks, and one without power refuses them.
    const stayAwake = async () => {
      if (document.hidden) return;
      lock = await navigator.wakeLock?.request("screen").catch(() => undefined);
      if (left) void lock?.release();
    };
    void stayAwake();
    const again = () => void stayAwake();
    document.addEventListener("visibilitychange", again);
    return () => {
      left = true;
      document.documentElement.classList.remove("big");
      document.removeEventListener("visibilitychange", again);
      void lock?.release();
    };
  }, [big]);
}

/** Returns the orders as they will be after the steps that are not yet sent. */
const withSteps = (orders: Order[], steps: Steps) =>
  steps.size === 0
    ? orders
    : orders.map((order) => {
        const step = steps.get(order.id);
        return step && order.status === step.order.status ? afterSteps({ ...step, order }) : order;
      });

/** The number of cards that a column shows at first and adds with each click. More would slow down each step. */
const pageSize = 30;

type ColumnProps = {
  status: OpenStatus;
  orders: Order[];
  steps: Steps;
  reminded: ReadonlySet<string>;
  hidden: boolean; // on phones
  onStep: (order: Order, move: Move) => void;
  onPrint: (order: Order) => void;
};

function Column({ status, orders, steps, reminded, hidden, onStep, onPrint }: ColumnProps) {
  const [limit, setLimit] = useState(pageSize);
  return (
    <section
      aria-label={statuses[status]}
      className={cn(
        "min-w-0 grid-cols-1 content-start gap-2 rounded-lg bg-muted/60 p-2 sm:grid",
        hidden ? "hidden" : "grid",
      )}
    >
      <h2 tabIndex={-1} className="flex justify-between gap-1 px-1 text-sm font-semibold">
        {statuses[status]} <span className="font-normal text-muted-foreground tabular-nums">{orders.length}</span>
      </h2>
      {orders.length === 0 && <p className="p-3 text-center text-xs text-muted-foreground">No orders</p>}
      {orders.slice(0, limit).map((order) => (
        <OrderCard
          key={order.id}
          order={order}
          unsent={steps.has(order.id)}
          reminded={reminded.has(order.id)}
          onStep={onStep}
          onPrint={onPrint}
        />
      ))}
      {orders.length > limit && (
        <Button variant="outline" className="h-11" onClick={() => setLimit(limit + pageSize)}>
          Show {Math.min(pageSize, orders.length - limit)} more
        </Button>
      )}
    </section>
  );
}
