import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { type FormEvent, useRef, useState } from "react";

import { queries } from "@/api/queries";
import { type Order, isChangeable, statuses } from "@/domain/orders";
import { Button } from "@/ui/button";
import { LeaveDialog } from "@/ui/leave";
import { Card, Empty, PageHeader, QueryState } from "@/ui/page";

import { ChangeCard } from "./change-card";
import { DeliveryAddress } from "./delivery-address";
import { Guest } from "./guest";
import { PickProducts } from "./pick";
import { ReviewBar } from "./review-bar";
import { type OrderEdit, useChange } from "./use-change";
import { useLineDialog } from "./use-line-dialog";

const route = getRouteApi("/inside/orders/$id/change");

/** The form that changes a placed order. It has the parts of the form for a new order. */
export function ChangeOrderPage() {
  const { id } = route.useParams();
  const order = useQuery(queries.orders.one(id));
  // The form stays if the order can no longer be changed after it was opened.
  const [opened, setOpened] = useState(false);
  const title = order.data ? `Change order ${order.data.orderId}` : "Change order";
  if (order.data && !opened && isChangeable(order.data)) setOpened(true);
  return (
    <>
      <PageHeader
        title={title}
        about={
          order.data && `${statuses[order.data.status]}. The kitchen sees the changes on its board and on the slip.`
        }
        actions={
          <Button asChild variant="outline">
            <Link to="/orders/$id" params={{ id }}>
              Back to the order
            </Link>
          </Button>
        }
      />
      <QueryState query={order} className="mb-4" />
      {order.data && opened && <ChangeForm key={id} order={order.data} />}
      {order.data && !opened && (
        <Empty title={`An order that is ${statuses[order.data.status].toLowerCase()} cannot be changed`} />
      )}
    </>
  );
}

function ChangeForm({ order: current }: { order: Order }) {
  const { currency } = current;
  const edit = useChange(current);
  const { draft, set, quote, saving } = edit;
  const lines = useLineDialog(edit, currency);
  const card = useRef<HTMLElement>(null);
  const refusal = quote.refusal ?? saving.refusal;

  function submit(event: FormEvent) {
    event.preventDefault();
    edit.save();
  }
  return (
    <>
      <form onSubmit={submit} className="grid items-start gap-4 lg:grid-cols-[3fr_2fr]">
        <div className="grid min-w-0 gap-4">
          <PickProducts draft={draft} currency={currency} onPick={lines.pick} />
          <KnownGuest edit={edit} current={current} />
          {draft.fulfillmentType === "DELIVERY" && <DeliveryAddress draft={draft} set={set} refusal={refusal} />}
          <ReviewBar lines={draft.lines} currency={currency} totalMinor={quote.current?.totalMinor} order={card} />
        </div>
        <ChangeCard edit={edit} current={current} onEdit={lines.edit} ref={card} />
      </form>
      <LeaveDialog unsaved={edit.mine.length > 0 && !saving.isSuccess} />
      {lines.dialog}
    </>
  );
}

/** The guest of the order, whom the user can replace: the order then belongs to another guest. */
function KnownGuest({ edit, current }: { edit: OrderEdit; current: Order }) {
  const { draft, set, setDraft, quote, saving } = edit;
  const { name, phone, email } = current.customer;
  if (draft.keepsGuest)
    return (
      <Card
        title="Guest"
        actions={
          <Button variant="outline" size="small" onClick={() => set({ keepsGuest: false })}>
            Change guest
          </Button>
        }
      >
        <p className="text-sm break-words">{[name, phone, email].filter(Boolean).join(" · ") || "No guest"}</p>
      </Card>
    );
  return (
    <div className="grid gap-2">
      <Guest draft={draft} set={set} change={setDraft} refusal={quote.refusal ?? saving.refusal} />
      <div>
        <Button
          variant="outline"
          size="small"
          onClick={() => set({ keepsGuest: true, customerId: undefined, name, phone, email })}
        >
          Keep the guest of the order
        </Button>
      </div>
    </div>
  );
}
