import { Link } from "@tanstack/react-router";
import { type FormEvent, useRef } from "react";

import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { LeaveDialog } from "@/ui/leave";
import { PageHeader } from "@/ui/page";

import { DeliveryAddress } from "./delivery-address";
import { Guest } from "./guest";
import { OrderCard } from "./order-card";
import { PickProducts } from "./pick";
import { ReviewBar } from "./review-bar";
import { useLineDialog } from "./use-line-dialog";
import { useNewOrder } from "./use-new-order";

/** The form for a new order. It shows the price while the user types. */
export function NewOrderPage() {
  const { currency } = useSession();
  const order = useNewOrder();
  const { draft, set, setDraft, quote, placing } = order;
  const lines = useLineDialog(order, currency);
  const card = useRef<HTMLElement>(null);

  function submit(event: FormEvent) {
    event.preventDefault();
    if (quote.current && !order.invalidDiscount) placing.place(draft, quote.current.totalMinor);
  }
  return (
    <>
      <PageHeader
        title="New order"
        about="For guests at the counter or on the phone."
        actions={
          <Button asChild variant="outline">
            <Link to="/orders">Back to orders</Link>
          </Button>
        }
      />
      <form onSubmit={submit} className="grid items-start gap-4 lg:grid-cols-[3fr_2fr]">
        <div className="grid min-w-0 gap-4">
          <PickProducts draft={draft} currency={currency} onPick={lines.pick} />
          <Guest draft={draft} set={set} change={setDraft} refusal={placing.refusal} />
          {draft.fulfillmentType === "DELIVERY" && (
            <DeliveryAddress draft={draft} set={set} refusal={placing.refusal} />
          )}
          <ReviewBar lines={draft.lines} currency={currency} totalMinor={quote.current?.totalMinor} order={card} />
        </div>
        <OrderCard order={order} onEdit={lines.edit} ref={card} />
      </form>
      <LeaveDialog
        unsaved={draft.lines.length > 0 && !placing.isSuccess}
        title="Leave without placing the order?"
        description="The items of this order are not saved."
        refusal="This page has an order that is not placed. Place the order or remove its items first."
        discard="Discard order"
      />
      {lines.dialog}
    </>
  );
}
