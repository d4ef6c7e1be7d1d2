import { type QueryClient, useQuery } from "@tanstack/react-query";

import { api, data } from "@/api/client";
import { queries } from "@/api/queries";
import type { ItemChange, Order } from "@/domain/orders";

import { ItemDetails, ItemName } from "./item";
import { applyChanges } from "./order-changes";

type Item = Order["items"][number];

/** The version of which a slip was printed, if the order has changed since. */
const printedBefore = ({ printedVersion, version }: Order) =>
  printedVersion !== null && printedVersion < version ? printedVersion : undefined;

/** The query of the changes since a version. Ticks of items are no changes. */
const changesSince = ({ id, items }: Order, since: number) =>
  queries.itemChanges(
    id,
    since,
    JSON.stringify(items, (key, value: unknown) => (key === "doneAt" ? undefined : value)),
  );

/** How often an order that changes while its slip is prepared is read again. */
const maxReads = 5;

/**
 * Reads what a slip shows: the changes of the items since the previous slip, and the order in the same version, which
 * is then recorded as printed. An order without a slip has no changes.
 */
export async function readSlip(client: QueryClient, order: Order): Promise<{ order: Order; changes: ItemChange[] }> {
  for (let reads = 0; ; reads++) {
    const since = printedBefore(order);
    if (since === undefined) return { order, changes: [] };
    const { version, itemChanges } = await client.fetchQuery({ ...changesSince(order, since), staleTime: 0 });
    if (version === order.version) return { order, changes: itemChanges };
    if (reads === maxReads) throw new Error(`order ${order.id} changes faster than it can be read`);
    order = await data(api.GET("/orders/{id}", { params: { path: { id: order.id } } }));
  }
}

/** Records that the slip of an order was printed, so that later changes are compared with it. */
export async function markPrinted(client: QueryClient, { id, version }: Order) {
  const order = await data(api.POST("/orders/{id}/printed", { params: { path: { id } }, body: { version } }));
  if (order.version === version) {
    const none = { since: version, version, itemChanges: [] };
    client.setQueryData(changesSince(order, version).queryKey, none);
  }
  applyChanges(client, [order]);
}

/** What has changed since the kitchen's slip was printed. Nothing for an order without a slip. */
export function SincePrinted({ order }: { order: Order }) {
  const since = printedBefore(order);
  const changes = useQuery({ ...changesSince(order, since ?? 0), enabled: since !== undefined });
  if (since === undefined || !changes.data || changes.data.itemChanges.length === 0) return null;
  return (
    <section
      aria-label={`Changes of order ${order.orderId} since the slip was printed`}
      className="rounded-md border border-warning/60 p-2 text-xs"
    >
      <p className="font-semibold text-warning">Changed since the slip was printed</p>
      <ItemChanges order={order} changes={changes.data.itemChanges} />
    </section>
  );
}

/** The changes of items, in the words of the menu. */
export const ItemChanges = ({ order, changes }: { order: Order; changes: ItemChange[] }) => (
  <ul className="mt-1 grid gap-1">
    {changes.map(({ itemId, action, before, after }) => (
      <li key={itemId} className="min-w-0 [overflow-wrap:anywhere]">
        {action === "ADDED" && <b>New: </b>}
        {action === "REMOVED" && <b>Removed: </b>}
        {action === "CHANGED" && <b>Changed: </b>}
        {before && <Line order={order} item={before} />}
        {before && after && " → "}
        {after && <Line order={order} item={after} />}
      </li>
    ))}
  </ul>
);

const Line = ({ order, item }: { order: Order; item: Item }) => (
  <>
    {item.quantity}× <ItemName item={item} viewId={order.storeViewId} />
    <ItemDetails item={item} viewId={order.storeViewId} />
  </>
);
