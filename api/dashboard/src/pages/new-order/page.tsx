import { type components, ComandaError } from "@comanda/client";
import { useMutation, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useRef, useState, useEffect } from "react";

import { api, data, fieldErrors, newIdempotencyKey } from "@/api/client";
import * as limits from "@/api/limits";
import { useInvalidate, queries } from "@/api/queries";
import { CustomerPicker } from "@/components/customer-picker";
import { Totals } from "@/components/totals";
import { formatMoney, localDecimals, parseMoney } from "@/domain/money";
import { fulfillments, sources } from "@/domain/orders";
import { type Product, inLocale } from "@/domain/products";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { Choice } from "@/ui/choice";
import { Field, SelectField, TextField, Textarea } from "@/ui/field";
import { LeaveDialog } from "@/ui/leave";
import { Card, Failure, PageHeader } from "@/ui/page";
import { loadPhoneRules } from "@/ui/phone";
import { PhoneField } from "@/ui/phone-field";
import { useSettled } from "@/ui/search";
import { useToast } from "@/ui/toast";

import { DeliveryAddress } from "./delivery-address";
import {
  type Draft,
  type Line,
  emptyDraft,
  lacksTime,
  lineErrors,
  newLine,
  placeRequest,
  quoteRequest,
  withLine,
  withProduct,
} from "./draft";
import { LineDialog } from "./line-dialog";
import { Lines } from "./lines";
import { initialChoices, optionFault } from "./options";
import { PickProducts } from "./pick";
import { RequestedFor } from "./requested-for";
import { ReviewBar } from "./review-bar";

type Body = components["schemas"]["PlaceOrderRequest"];

/** Refusals that mean that the menu has changed since the products were read. */
const menuChanged = new Set(["PRODUCT_UNAVAILABLE", "OPTION_INVALID", "PRICE_NOT_SET"]);

const refusalOf = (error: unknown) => (error instanceof ComandaError ? error : undefined);

/** Returns the products of the lines by id, in the texts of the default view. A refusal reads them again. */
function useProducts(lines: Line[]) {
  const { locale } = useSession().defaultView;
  return useQueries({
    queries: [...new Set(lines.map((line) => line.productId))].map(queries.products.own),
    combine: (results) =>
      new Map(
        results.flatMap(({ data: product }) => (product ? [[product.id, inLocale(product, locale)] as const] : [])),
      ),
  });
}

/** Returns the price of the draft, and whether it is that of the draft as it is now. */
function useQuote(wanted: Body | null) {
  // Fields that do not change the price must not delay it.
  const text = JSON.stringify(wanted);
  const settled = useSettled(text);
  const quote = useQuery(queries.quote(JSON.parse(settled) as Body | null));
  const settledNow = wanted !== null && settled === text;
  return {
    ...quote,
    error: settledNow ? quote.error : null,
    current: settledNow && !quote.isPlaceholderData && !quote.isError ? quote.data : undefined,
  };
}

/** The form for a new order. It shows the price while the user types. */
export function NewOrderPage() {
  const { currency, country, timezone, locale, atLeast } = useSession();
  const place = { country, timezone };
  const navigate = useNavigate();
  const client = useQueryClient();
  const invalidate = useInvalidate();
  const toast = useToast();
  // The key stays until the order is placed: if the response to the first attempt got lost, the second one repeats it.
  const [idempotencyKey, setIdempotencyKey] = useState(newIdempotencyKey);
  const [draft, setDraft] = useState<Draft>(emptyDraft);
  const set = (change: Partial<Draft>) => setDraft((before) => ({ ...before, ...change }));
  const [editing, setEditing] = useState<Line | null>(null);
  const orderCard = useRef<HTMLElement>(null);

  const products = useProducts(draft.lines);
  const faults = new Map(
    draft.lines.flatMap((line) => {
      const product = products.get(line.productId);
      const fault = product && optionFault(product, line.options, currency);
      return fault ? [[line.key, fault] as const] : [];
    }),
  );
  const wanted = faults.size > 0 || lacksTime(draft) ? null : quoteRequest(draft, currency, place);
  const quote = useQuote(wanted);
  const quoteRefusal = refusalOf(quote.error);
  useEffect(() => {
    if (quoteRefusal && menuChanged.has(quoteRefusal.code)) void invalidate("products");
  }, [quoteRefusal, invalidate]);

  const sending = useRef(false); // set immediately, unlike placing.isPending, which the second click may not see yet
  const placing = useMutation({
    mutationFn: async ({ draft, total }: { draft: Draft; total: number }) => {
      if (draft.phone) await loadPhoneRules();
      return data(
        api.POST("/orders", {
          body: { ...placeRequest(draft, currency, place), expectedTotalMinor: total },
          params: { header: { "Idempotency-Key": idempotencyKey } },
        }),
      );
    },
    onSuccess: (order) => {
      void invalidate("orders");
      toast(`Order ${order.orderId} placed`);
      void navigate({ to: "/orders/$id", params: { id: order.id }, ignoreBlocker: true });
    },
    onError: async (error) => {
      if (menuChanged.has(refusalOf(error)?.code ?? "")) void invalidate("products");
      const quoted = quote.refetch();
      // The message names the new total, and the next attempt must send it.
      if (refusalOf(error)?.code === "TOTAL_MISMATCH") await quoted;
    },
    onSettled: () => {
      sending.current = false;
    },
  });
  const refusal = refusalOf(placing.error);
  // A line that was changed after the refusal is no longer at fault.
  const refusedLines = [...lineErrors(refusal, placing.variables?.draft.lines ?? [], products)].filter(([key]) =>
    draft.lines.some((line) => line.key === key && placing.variables?.draft.lines.includes(line)),
  );
  const errors = new Map([...refusedLines, ...lineErrors(quoteRefusal, draft.lines, products), ...faults]);
  const invalidDiscount = draft.discount.trim() !== "" && parseMoney(draft.discount, currency) === null;

  function pick(product: Product) {
    client.setQueryData(queries.products.own(product.id).queryKey, product);
    if (product.optionGroups.length === 0) setDraft((before) => withProduct(before, product));
    else setEditing(newLine(draft, product, initialChoices(product, currency)));
  }
  function submit(event: FormEvent) {
    event.preventDefault();
    if (sending.current || !quote.current || invalidDiscount) return;
    sending.current = true;
    placing.mutate({ draft, total: quote.current.totalMinor });
  }
  const edited =
    editing &&
    (products.get(editing.productId) ?? client.getQueryData(queries.products.own(editing.productId).queryKey));
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
          <PickProducts draft={draft} onPick={pick} />
          <Guest draft={draft} set={set} refusal={refusal} />
          {draft.fulfillmentType === "DELIVERY" && <DeliveryAddress draft={draft} set={set} refusal={refusal} />}
          <ReviewBar lines={draft.lines} totalMinor={quote.current?.totalMinor} order={orderCard} />
        </div>
        <Card
          title="Order"
          ref={orderCard}
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
                error={fieldErrors(refusal)("tableLabel")}
              />
            )}
            <RequestedFor draft={draft} set={set} refusal={quoteRefusal ?? refusal} />
            <Lines
              draft={draft}
              products={products}
              errors={errors}
              onChange={(line) => setDraft((before) => withLine(before, line))}
              onEdit={setEditing}
            />
            <div className="grid grid-cols-2 items-start gap-3">
              {atLeast("MANAGER") && (
                <TextField
                  label={`Discount in ${currency}`}
                  inputMode="decimal"
                  placeholder="0"
                  value={draft.discount}
                  onChange={(event) => set({ discount: event.target.value })}
                  error={
                    invalidDiscount
                      ? `Enter an amount, such as ${localDecimals("1.50")}`
                      : fieldErrors(refusal)("discountMinor")
                  }
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
            <Field label="Note" error={fieldErrors(refusal)("note")}>
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
            <div aria-live="polite" className={quote.current ? undefined : "opacity-60"}>
              {wanted && quote.data && <Totals of={quote.data} />}
              {/* RequestedFor shows refusals of the time. */}
              {quoteRefusal?.code !== "OUTSIDE_BOOKING_WINDOW" && (
                <Failure error={quote.error} retry={() => void quote.refetch()} className="mt-2" />
              )}
              {faults.size > 0 && <p className="text-sm">Change the options of the marked items to see the total.</p>}
            </div>
            {refusal?.code === "TOTAL_MISMATCH" ? (
              <p role="alert" className="rounded-md border border-warning/40 p-3 text-sm text-warning">
                The total has changed
                {quote.current &&
                  ` from ${formatMoney(placing.variables!.total, currency, locale)} to ` +
                    formatMoney(quote.current.totalMinor, currency, locale)}
                . Check the new total, then place the order again.
              </p>
            ) : refusal?.code === "IDEMPOTENCY_KEY_REUSED" ? (
              <div role="alert" className="grid gap-2 rounded-md border border-warning/40 p-3 text-sm">
                <p>
                  This order was already placed, without your last changes: the response did not arrive. Check it on the
                  board before you place another one.
                </p>
                <Button
                  variant="outline"
                  onClick={() => {
                    setIdempotencyKey(newIdempotencyKey());
                    placing.reset();
                  }}
                >
                  Prepare another order
                </Button>
              </div>
            ) : (
              !quote.error &&
              (refusedLines.length > 0 || !menuChanged.has(refusal?.code ?? "")) && <Failure error={placing.error} />
            )}
            <Button type="submit" busy={placing.isPending} disabled={!quote.current || invalidDiscount}>
              Place order
            </Button>
          </div>
        </Card>
      </form>
      <LeaveDialog
        unsaved={draft.lines.length > 0 && !placing.isSuccess}
        title="Leave without placing the order?"
        description="The items of this order are not saved."
        refusal="This page has an order that is not placed. Place the order or remove its items first."
        discard="Discard order"
      />
      {editing && edited && (
        <LineDialog
          product={edited}
          line={editing}
          added={!draft.lines.some((line) => line.key === editing.key)}
          onClose={() => setEditing(null)}
          onSave={(line) => {
            setDraft((before) => withLine(before, line));
            setEditing(null);
          }}
        />
      )}
    </>
  );
}

type GuestProps = { draft: Draft; set: (change: Partial<Draft>) => void; refusal?: ComandaError };

/** A known customer or a guest. Searching for customers requires the role MANAGER. */
function Guest({ draft, set, refusal }: GuestProps) {
  const { atLeast } = useSession();
  return (
    <Card title="Guest">
      <div className="grid gap-4 sm:grid-cols-2">
        {atLeast("MANAGER") && (
          <CustomerPicker
            className="sm:col-span-2"
            picked={draft.customerId}
            onPick={(customer) => set({ customerId: customer?.id })}
          />
        )}
        {!draft.customerId && (
          <>
            <TextField
              label="Name"
              {...limits.GuestRequest.name}
              autoComplete="off"
              value={draft.name}
              onChange={(event) => set({ name: event.target.value })}
              error={fieldErrors(refusal)("customer.name")}
              className="sm:col-span-2"
            />
            <PhoneField
              value={draft.phone}
              onValue={(phone) => set({ phone })}
              error={fieldErrors(refusal)("customer.phone")}
            />
            <TextField
              label="Email"
              type="email"
              {...limits.GuestRequest.email}
              autoComplete="off"
              value={draft.email}
              onChange={(event) => set({ email: event.target.value })}
              error={fieldErrors(refusal)("customer.email")}
            />
          </>
        )}
      </div>
    </Card>
  );
}
