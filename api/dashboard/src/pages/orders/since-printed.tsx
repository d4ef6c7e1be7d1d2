import type { components } from "@comanda/client";
import { type QueryClient, useQuery } from "@tanstack/react-query";

import { api, data } from "@/api/client";
import { queries } from "@/api/queries";
import { orderedBy } from "@/domain/customers";
import type { ItemChange, Order } from "@/domain/orders";
import { useSession } from "@/session/session";
import { addressLines } from "@/ui/address";
import { ClockTime, ShortTime } from "@/ui/format";

import { ItemDetails, ItemName } from "./item";
import { applyChanges } from "./order-changes";

type Item = Order["items"][number];
type Changes = components["schemas"]["OrderItemChanges"];

/** The version of which a slip was printed, if the order has changed since. */
const printedBefore = ({ printedVersion, version }: Order) =>
  printedVersion !== null && printedVersion < version ? printedVersion : undefined;

/** The members of an order, besides its items, that concern the kitchen and the driver. */
const kitchenFields = ["tableLabel", "requestedFor", "customer", "deliveryAddress", "note"] as const;

/** What has changed for the kitchen. */
export type KitchenChanges = { items: ItemChange[]; fields: (typeof kitchenFields)[number][] };

const none: KitchenChanges = { items: [], fields: [] };

export const isChange = ({ items, fields }: KitchenChanges) => items.length > 0 || fields.length > 0;

const forKitchen = ({ itemChanges, changedFields }: Changes): KitchenChanges => ({
  items: itemChanges,
  fields: kitchenFields.filter(
    (name) => changedFields.includes(name) || (name === "customer" && changedFields.includes("customerId")),
  ),
});

/** The query of the changes since a version. Ticks of items are no changes. */
const changesSince = (order: Order, since: number) =>
  queries.orderChanges(
    order.id,
    since,
    JSON.stringify([order.items, ...kitchenFields.map((name) => order[name])], (key, value: unknown) =>
      key === "doneAt" ? undefined : value,
    ),
  );

/** How often an order that changes while its slip is prepared is read again. */
const maxReads = 5;

/**
 * Reads what a slip shows: the changes since the previous slip, and the order in the same version, which is then
 * recorded as printed. An order without a slip has no changes.
 */
export async function readSlip(client: QueryClient, order: Order): Promise<{ order: Order; changes: KitchenChanges }> {
  for (let reads = 0; ; reads++) {
    const since = printedBefore(order);
    if (since === undefined) return { order, changes: none };
    const changes = await client.fetchQuery({ ...changesSince(order, since), staleTime: 0 });
    if (changes.version === order.version) return { order, changes: forKitchen(changes) };
    if (reads === maxReads) throw new Error(`order ${order.id} changes faster than it can be read`);
    order = await data(api.GET("/orders/{id}", { params: { path: { id: order.id } } }));
  }
}

/** Records that the slip of an order was printed, so that later changes are compared with it. */
export async function markPrinted(client: QueryClient, { id, version }: Order) {
  const order = await data(api.POST("/orders/{id}/printed", { params: { path: { id } }, body: { version } }));
  if (order.version === version) {
    const changes = { since: version, version, changedFields: [], itemChanges: [] };
    client.setQueryData(changesSince(order, version).queryKey, changes);
  }
  applyChanges(client, [order]);
}

/** What has changed since the kitchen's slip was printed. Nothing for an order without a slip. */
export function SincePrinted({ order }: { order: Order }) {
  const since = printedBefore(order);
  const { data } = useQuery({ ...changesSince(order, since ?? 0), enabled: since !== undefined });
  const changes = since === undefined || !data ? none : forKitchen(data);
  if (!isChange(changes)) return null;
  return (
    <section
      aria-label={`Changes of order ${order.orderId} since the slip was printed`}
      className="rounded-md border border-warning/60 p-2 text-xs"
    >
      <p className="font-semibold text-warning">Changed since the slip was printed</p>
      <ChangeList order={order} changes={changes} />
    </section>
  );
}

/** The changes for the kitchen: items in the words of the menu, and the other members as they are now. */
export const ChangeList = ({ order, changes }: { order: Order; changes: KitchenChanges }) => (
  <ul className="mt-1 grid gap-1">
    {changes.fields.map((name) => (
      <li key={name} className="min-w-0 whitespace-pre-wrap [overflow-wrap:anywhere]">
        <Field order={order} name={name} />
      </li>
    ))}
    {changes.items.map(({ itemId, action, before, after }) => (
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

function Field({ order, name }: { order: Order; name: KitchenChanges["fields"][number] }) {
  const { locale } = useSession();
  if (name === "customer")
    return (
      <>
        <b>Guest: </b>
        {orderedBy(order)}
        {order.deliveryAddress && order.customer.phone && `, ${order.customer.phone}`}
      </>
    );
  if (name === "deliveryAddress")
    return (
      <>
        <b>Address: </b>
        {order.deliveryAddress && addressLines(order.deliveryAddress, locale).join(", ")}
        {order.deliveryAddress?.notes && <span className="block">{order.deliveryAddress.notes}</span>}
      </>
    );
  if (name === "tableLabel")
    return (
      <>
        <b>Table: </b>
        {order.tableLabel || "none"}
      </>
    );
  if (name === "note")
    return (
      <>
        <b>Note: </b>
        {order.note || "none"}
      </>
    );
  return (
    <>
      <b>Time: </b>
      {order.requestedFor ? (
        <ShortTime at={order.requestedFor} />
      ) : (
        <>
          as soon as possible, ready at <ClockTime at={order.promisedAt} />
        </>
      )}
    </>
  );
}

const Line = ({ order, item }: { order: Order; item: Item }) => (
  <>
    {item.quantity}× <ItemName item={item} viewId={order.storeViewId} />
    <ItemDetails item={item} viewId={order.storeViewId} />
  </>
);
