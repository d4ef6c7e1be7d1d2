import type { ReactNode, Ref } from "react";

import { fieldErrors } from "@/api/client";
import * as limits from "@/api/limits";
import { Totals } from "@/components/totals";
import { formatMoney, localDecimals } from "@/domain/money";
import { fulfillments, statuses, type Order } from "@/domain/orders";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { Field, TextField, Textarea } from "@/ui/field";
import { Card, Failure } from "@/ui/page";

import { type Difference } from "./change";
import { type Line, withLine } from "./draft";
import { Lines } from "./lines";
import { RequestedFor } from "./requested-for";
import type { OrderEdit } from "./use-change";
import { isMenuChange } from "./use-new-order";

type Props = { edit: OrderEdit; current: Order; onEdit: (line: Line) => void; ref: Ref<HTMLElement> };

/** The order as it will be after the change, the difference, and the button that saves it. */
export function ChangeCard({ edit, current, onEdit, ref }: Props) {
  const { atLeast } = useSession();
  const { draft, set, setDraft, quote, saving, theirs, mine } = edit;
  const refusal = quote.refusal ?? saving.refusal;
  const fieldError = fieldErrors(refusal);
  return (
    <Card
      title={[fulfillments[draft.fulfillmentType], current.channel].filter(Boolean).join(" · ")}
      ref={ref}
      className="min-w-0 scroll-mt-4 lg:sticky lg:top-4 lg:max-h-[calc(100dvh-2rem)] lg:overflow-y-auto"
    >
      <div className="grid gap-4">
        <Conflict edit={edit} current={current} />
        {draft.fulfillmentType === "DINE_IN" && (
          <TextField
            label="Table"
            {...limits.PlaceOrderRequest.tableLabel}
            autoComplete="off"
            value={draft.tableLabel}
            onChange={(event) => set({ tableLabel: event.target.value })}
            error={fieldError("tableLabel")}
          />
        )}
        <RequestedFor draft={draft} set={set} refusal={refusal} placed />
        <Lines
          draft={draft}
          currency={current.currency}
          products={edit.products}
          errors={edit.lineErrors}
          onChange={(line) => setDraft((before) => withLine(before, line))}
          onEdit={onEdit}
        />
        {atLeast("MANAGER") && (
          <TextField
            label={`Discount in ${current.currency}`}
            inputMode="decimal"
            placeholder="0"
            value={draft.discount}
            onChange={(event) => set({ discount: event.target.value })}
            error={
              edit.invalidDiscount ? `Enter an amount, such as ${localDecimals("1.50")}` : fieldError("discountMinor")
            }
          />
        )}
        <Field label="Note" error={fieldError("note")}>
          {(ids) => (
            <Textarea
              {...ids}
              {...limits.PlaceOrderRequest.note}
              value={draft.note}
              onChange={(event) => set({ note: event.target.value })}
            />
          )}
        </Field>
        <Changes title="Your changes" differences={mine}>
          {mine.length === 0 && <p className="text-muted-foreground">None yet.</p>}
        </Changes>
        <Price edit={edit} />
        <Refusal edit={edit} />
        <Button
          type="submit"
          busy={saving.isPending}
          disabled={!quote.current || edit.invalidDiscount || theirs.length > 0 || !edit.changeable}
        >
          Save changes
        </Button>
      </div>
    </Card>
  );
}

function Changes({ title, differences, children }: { title: string; differences: Difference[]; children?: ReactNode }) {
  return (
    <section aria-label={title} className="grid gap-1 text-sm">
      <h3 className="font-semibold">{title}</h3>
      <ul className="list-inside list-disc break-words">
        {differences.map(({ key, text }) => (
          <li key={key}>{text}</li>
        ))}
      </ul>
      {children}
    </section>
  );
}

/** What another user has done to the order since the form was opened. The user's entries stay in the form. */
function Conflict({ edit, current }: { edit: OrderEdit; current: Order }) {
  const { theirs, mine, changeable } = edit;
  const box = "grid gap-3 rounded-md border border-danger/40 p-3 text-sm";
  if (!changeable)
    return (
      <p role="alert" className={box}>
        The order is now {statuses[current.status].toLowerCase()} and can no longer be changed.
      </p>
    );
  if (theirs.length === 0) return null;
  const both = mine.some(({ key }) => theirs.some((one) => one.key === key));
  return (
    <div role="alert" className={box}>
      <p>
        <strong>Another user has changed this order.</strong> Your entries are kept and not saved.
        {both && " Where both have changed the same, yours would replace the other one."}
      </p>
      <Changes title="Changes by another user" differences={theirs} />
      <div className="flex flex-wrap gap-2">
        <Button size="small" onClick={edit.rebase}>
          Add my changes to these
        </Button>
        <Button variant="outline" size="small" onClick={edit.discard}>
          Discard my changes
        </Button>
      </div>
    </div>
  );
}

/** The total before and after the change, or why it could not be calculated. */
function Price({ edit: { base, quote, hasFaults, mine } }: { edit: OrderEdit }) {
  const { locale } = useSession();
  const shown = mine.length > 0 ? quote.data : undefined;
  const money = (minor: number) => formatMoney(minor, base.currency, locale);
  return (
    <div aria-live="polite">
      <Totals amounts={shown ?? base} />
      {shown && shown.totalMinor !== base.totalMinor && (
        <p className="mt-1 text-sm font-semibold">
          The total changes from {money(base.totalMinor)} to {money(shown.totalMinor)}.
        </p>
      )}
      {hasFaults && <p className="text-sm">Change the options of the marked items to see the total.</p>}
    </div>
  );
}

/** The refusals that another part of the form shows: the conflict, or the time. */
const shownElsewhere = new Set(["VERSION_MISMATCH", "INVALID_TRANSITION", "OUTSIDE_BOOKING_WINDOW", "STORE_CLOSED"]);

/** The reason why the change cannot be saved, unless a field or the conflict shows it. */
function Refusal({ edit }: { edit: OrderEdit }) {
  const { quote, saving, lineErrors } = edit;
  const refusal = quote.refusal ?? saving.refusal;
  const box = "grid gap-2 rounded-md border border-warning/40 p-3 text-sm";
  switch (refusal?.code) {
    case "INSUFFICIENT_ROLE":
      return (
        <p role="alert" className={box}>
          The total of an accepted order would be lower. In this store, only managers may lower it. Ask a manager, or
          keep the total.
        </p>
      );
    case "TOTAL_MISMATCH":
      return (
        <p role="alert" className={box}>
          The total has changed. Check the new total, then save again.
        </p>
      );
    case "IDEMPOTENCY_KEY_REUSED":
      return (
        <div role="alert" className={box}>
          <p>
            Your first changes were saved, without the later ones: the response did not arrive. Continue with the order
            as it is now.
          </p>
          <Button variant="outline" onClick={edit.discard}>
            Show the current order
          </Button>
        </div>
      );
  }
  if (refusal && (shownElsewhere.has(refusal.code) || (isMenuChange(refusal) && lineErrors.size > 0))) return null;
  return <Failure error={quote.error ?? saving.error} retry={quote.error ? () => void quote.refetch() : undefined} />;
}
