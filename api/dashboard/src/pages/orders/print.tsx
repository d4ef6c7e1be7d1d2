import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, createContext, use, useCallback, useEffect, useState } from "react";
import { createPortal } from "react-dom";

import { Settlement } from "@/components/owed";
import { Totals } from "@/components/totals";
import { orderedBy } from "@/domain/customers";
import { type Order, fulfillments, payments } from "@/domain/orders";
import { useSession } from "@/session/session";
import { addressLines } from "@/ui/address";
import { cn } from "@/ui/cn";
import { ClockTime, Money, ShortTime, Time } from "@/ui/format";
import { useErrorToast } from "@/ui/toast";

import { claimPrint, deviceSettings, useDeviceSettings } from "./device";
import { ItemDetails, ItemName } from "./item";
import { ChangeList, type KitchenChanges, isChange, markPrinted, readSlip } from "./since-printed";

export type Paper = "slip" | "receipt";

type Job = { order: Order; kind: Paper };

/** A job with what the slip of a changed order shows. */
type Page = Job & { changes?: KitchenChanges };

const Context = createContext<(jobs: Job[]) => void>(() => {});

/** Returns a function that prints kitchen slips and receipts, each on a separate page. */
export const usePrint = () => use(Context);

/** Returns a function that prints an order that was accepted on this device, once and as the settings say. */
export function usePrintAccepted() {
  const print = usePrint();
  return useCallback(
    (order: Order) => {
      const choice = deviceSettings().print;
      const kinds: Paper[] = choice === "both" ? ["slip", "receipt"] : choice === "nothing" ? [] : [choice];
      if (kinds.length === 0) return;
      void claimPrint(order.id).then((first) => first && print(kinds.map((kind) => ({ order, kind }))));
    },
    [print],
  );
}

/** Renders the pages to print. styles.css shows them on paper instead of the dashboard. */
export function PrintProvider({ children }: { children: ReactNode }) {
  const { paper } = useDeviceSettings();
  // Not every browser reports the end of printing, so pages that were handed to the printer are replaced by the next.
  const [{ jobs, handed }, setState] = useState<{ jobs: Page[]; handed: boolean }>({ jobs: [], handed: false });
  const client = useQueryClient();
  const showError = useErrorToast();
  const print = useCallback(
    (more: Job[]) =>
      void Promise.all(more.map((job) => pageOf(client, job))).then(
        (pages) => setState((now) => ({ jobs: now.handed ? pages : [...now.jobs, ...pages], handed: false })),
        showError, // a slip that looks like a new order would be cooked again
      ),
    [client, showError],
  );
  useEffect(() => {
    if (jobs.length === 0 || handed) return;
    // After the pages are laid out.
    const frame = requestAnimationFrame(() => {
      addEventListener("afterprint", () => setState((now) => (now.jobs === jobs ? { jobs: [], handed: false } : now)), {
        once: true,
      });
      window.print();
      for (const { order, kind } of jobs) if (kind === "slip") markPrinted(client, order).catch(showError);
      setState((now) => (now.jobs === jobs ? { jobs, handed: true } : now));
    });
    return () => cancelAnimationFrame(frame);
  }, [jobs, handed, client, showError]);
  return (
    <Context value={print}>
      {children}
      {jobs.length > 0 &&
        createPortal(
          <div className={cn("print-pages", paper === "A4" ? "paper-a4" : "paper-80mm")}>
            {jobs.map(({ order, kind, changes }, i) => (
              <div key={i} className="print-page" data-testid={kind}>
                {kind === "slip" ? <Slip order={order} changes={changes} /> : <Receipt order={order} />}
              </div>
            ))}
          </div>,
          document.body,
        )}
    </Context>
  );
}

const pageOf = async (client: QueryClient, { order, kind }: Job): Promise<Page> =>
  kind === "slip" ? { kind, ...(await readSlip(client, order)) } : { kind, order };

/** What the kitchen reads: no prices, large quantities. The slip of a changed order begins with the changes. */
function Slip({ order, changes }: { order: Order; changes?: KitchenChanges }) {
  const changed = changes && isChange(changes);
  return (
    <>
      {changed && <p className="border-2 p-1 text-center text-2xl font-bold">CHANGE</p>}
      <p className="text-2xl font-bold">#{order.orderId}</p>
      <p className="font-semibold">
        {fulfillments[order.fulfillmentType]}
        {order.channel && ` · ${order.channel}`} · {orderedBy(order)}
        {order.tableLabel && ` · Table ${order.tableLabel}`}
      </p>
      <p>
        <Time at={order.createdAt} />
      </p>
      {order.requestedFor && (
        <p className="font-bold">
          For <ShortTime at={order.requestedFor} />
        </p>
      )}
      {order.promisedAt !== order.requestedFor && (
        <p className="font-bold">
          Ready at <ClockTime at={order.promisedAt} />
        </p>
      )}
      {changed && (
        <>
          <div className="my-2 border-y-2 py-2 text-lg">
            <ChangeList order={order} changes={changes} />
          </div>
          <p className="font-bold">The whole order now:</p>
        </>
      )}
      <ul className="my-2 border-y py-2 text-lg">
        {order.items.map((item, i) => (
          <li key={i} className="flex gap-2">
            <span className="font-bold tabular-nums">{item.quantity}×</span>
            <span className="min-w-0 break-words">
              <ItemName item={item} viewId={order.storeViewId} />
              <ItemDetails item={item} viewId={order.storeViewId} />
            </span>
          </li>
        ))}
      </ul>
      {order.note && <p className="border p-1 font-semibold break-words whitespace-pre-wrap">{order.note}</p>}
    </>
  );
}

/** What the guest receives, and what a driver needs: prices, and for a delivery the address, phone and notes. */
function Receipt({ order }: { order: Order }) {
  const { storeName, locale } = useSession();
  const { deliveryAddress: to } = order;
  return (
    <>
      <p className="text-lg font-bold">{storeName}</p>
      <p>
        Order {order.orderId} · {fulfillments[order.fulfillmentType]}
        {order.channel && ` · ${order.channel}`}
        {order.tableLabel && ` · Table ${order.tableLabel}`}
      </p>
      <p>
        <Time at={order.createdAt} />
      </p>
      <p>{orderedBy(order)}</p>
      {to && (
        <>
          <p>{order.customer.phone}</p>
          <p>{addressLines(to, locale).join(", ")}</p>
          <p className="font-semibold break-words whitespace-pre-wrap">{to.notes}</p>
          <p className="break-words whitespace-pre-wrap">{order.note}</p>
        </>
      )}
      <ul className="my-2 border-y py-2">
        {order.items.map((item, i) => (
          <li key={i} className="flex justify-between gap-2">
            <span className="min-w-0 break-words">
              {item.quantity}× {item.productName}
              <ItemDetails item={item} />
            </span>
            <Money minor={item.totalMinor} currency={order.currency} />
          </li>
        ))}
      </ul>
      <Totals amounts={order} />
      <Settlement order={order} />
      <p className="mt-2">{payments[order.paymentStatus].label}</p>
      <p className="mt-2 text-xs">This receipt is not a tax invoice.</p>
    </>
  );
}
