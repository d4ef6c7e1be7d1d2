import { useQuery } from "@tanstack/react-query";
import type { Ref } from "react";

import { fieldErrors } from "@/api/client";
import * as limits from "@/api/limits";
import { queries } from "@/api/queries";
import { Totals } from "@/components/totals";
import { formatMoney, localDecimals } from "@/domain/money";
import { fulfillments, sources } from "@/domain/orders";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { Choice } from "@/ui/choice";
import { Field, SelectField, TextField, Textarea } from "@/ui/field";
import { Card, Failure } from "@/ui/page";

import { type Draft, type Line, withLine } from "./draft";
import { Lines } from "./lines";
import { RequestedFor } from "./requested-for";
import { type NewOrder, isMenuChange } from "./use-new-order";

type Props = { order: NewOrder; onEdit: (line: Line) => void; ref: Ref<HTMLElement> };

/** The new order: its fulfillment, time, lines and price, and the button that places it. */
export function OrderCard({ order, onEdit, ref }: Props) {
  const { currency } = useSession();
  const { draft, set, setDraft, quote, placing } = order;
  return (
    <Card
      title="Order"
      ref={ref}
      className="min-w-0 scroll-mt-4 lg:sticky lg:top-4 lg:max-h-[calc(100dvh-2rem)] lg:overflow-y-auto"
    >
      <div className="grid gap-4">
        <Choice
          label="Fulfilment"
          value={draft.fulfillmentType}
          options={fulfillments}
          onChange={(fulfillmentType) => set({ fulfillmentType })}
        />
        {draft.fulfillmentType === "DINE_IN" && (
          <TextField
            label="Table"
            {...limits.PlaceOrderRequest.tableLabel}
            placeholder="Terrace 4"
            autoComplete="off"
            value={draft.tableLabel}
            onChange={(event) => set({ tableLabel: event.target.value })}
            error={fieldErrors(placing.refusal)("tableLabel")}
          />
        )}
        <RequestedFor draft={draft} set={set} refusal={quote.refusal ?? placing.refusal} />
        <Lines
          draft={draft}
          currency={currency}
          products={order.products}
          errors={order.lineErrors}
          onChange={(line) => setDraft((before) => withLine(before, line))}
          onEdit={onEdit}
        />
        <Details order={order} />
        <Price order={order} />
        <Refusal order={order} />
        <Button type="submit" busy={placing.isPending} disabled={!quote.current || order.invalidDiscount}>
          Place order
        </Button>
      </div>
    </Card>
  );
}

/** The discount, the source and the note. A discount requires the role MANAGER. */
function Details({ order: { draft, set, placing, invalidDiscount } }: { order: NewOrder }) {
  const { currency, atLeast } = useSession();
  const fieldError = fieldErrors(placing.refusal);
  const store = useQuery({ ...queries.store, staleTime: 60_000 });
  return (
    <>
      <div className="grid grid-cols-2 items-start gap-3">
        {draft.customerId && store.data?.loyalty.minorPerPoint[currency] !== undefined && (
          <TextField
            className="col-span-2"
            label="Loyalty points to redeem"
            type="number"
            {...limits.PlaceOrderRequest.loyaltyPoints}
            placeholder="0"
            value={draft.points}
            onChange={(event) => set({ points: event.target.value })}
            error={fieldError("loyaltyPoints")}
          />
        )}
        {atLeast("MANAGER") && (
          <TextField
            label={`Discount in ${currency}`}
            inputMode="decimal"
            placeholder="0"
            value={draft.discount}
            onChange={(event) => set({ discount: event.target.value })}
            error={invalidDiscount ? `Enter an amount, such as ${localDecimals("1.50")}` : fieldError("discountMinor")}
          />
        )}
        <SelectField
          label="Source"
          value={draft.source}
          onChange={(event) => set({ source: event.target.value as Draft["source"] })}
        >
          <option value="PHONE">{sources.PHONE}</option>
          <option value="POS">{sources.POS}</option>
        </SelectField>
      </div>
      <Field label="Note" error={fieldError("note")}>
        {(ids) => (
          <Textarea
            {...ids}
            {...limits.PlaceOrderRequest.note}
            placeholder="No onions, please."
            value={draft.note}
            onChange={(event) => set({ note: event.target.value })}
          />
        )}
      </Field>
    </>
  );
}

/** The price that the service has calculated, or why it could not. */
const Price = ({ order: { quote, hasPrice, hasFaults } }: { order: NewOrder }) => (
  <div aria-live="polite">
    {hasPrice && quote.data && (
      <div className={quote.current ? undefined : "opacity-60"}>
        <Totals amounts={quote.data} />
      </div>
    )}
    {/* RequestedFor shows refusals of the time. */}
    {quote.refusal?.code !== "OUTSIDE_BOOKING_WINDOW" && (
      <Failure error={quote.error} retry={() => void quote.refetch()} className="mt-2" />
    )}
    {hasFaults && <p className="text-sm">Change the options of the marked items to see the total.</p>}
  </div>
);

/** The reason why the order was not placed, unless the price or the lines show it. */
function Refusal({ order: { quote, placing, hasRefusedLines } }: { order: NewOrder }) {
  const { currency, locale } = useSession();
  const { refusal } = placing;
  switch (refusal?.code) {
    case "TOTAL_MISMATCH":
      return (
        <p role="alert" className="rounded-md border border-warning/40 p-3 text-sm text-warning">
          The total has changed
          {quote.current &&
            ` from ${formatMoney(placing.variables!.total, currency, locale)} to ` +
              formatMoney(quote.current.totalMinor, currency, locale)}
          . Check the new total, then place the order again.
        </p>
      );
    case "IDEMPOTENCY_KEY_REUSED":
      return (
        <div role="alert" className="grid gap-2 rounded-md border border-warning/40 p-3 text-sm">
          <p>
            This order was already placed, without your last changes: the response did not arrive. Check it on the board
            before you place another one.
          </p>
          <Button variant="outline" onClick={placing.renew}>
            Prepare another order
          </Button>
        </div>
      );
  }
  if (quote.error || (isMenuChange(refusal) && !hasRefusedLines)) return null;
  return <Failure error={placing.error} />;
}
