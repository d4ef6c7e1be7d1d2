import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Minus, Plus } from "lucide-react";
import { type FormEvent, useState } from "react";

import { ApiError, api, data, idempotencyKey } from "@/api/client";
import type { components } from "@/api/schema";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { Choice } from "@/ui/choice";
import { Field, SelectField, TextField, Textarea } from "@/ui/field";
import { Money, parseMoney } from "@/ui/format";
import { More, useList } from "@/ui/more";
import { Card, Failure, PageHeader, QueryState } from "@/ui/page";
import { SearchField, useSettled } from "@/ui/search";
import { useToast } from "@/ui/toast";

import { CustomerPicker } from "../customers/picker";
import { priceIn } from "../products/price";
import { type Draft, emptyDraft, placing, quoting, withProduct } from "./draft";
import { fulfillments, sources } from "./status";
import { Totals } from "./totals";

type Product = components["schemas"]["Product"];

/** Takes an order by hand; what it costs shows as one types. */
export function NewOrderPage() {
  const { currency, atLeast } = useSession();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const toast = useToast();
  const [once] = useState(idempotencyKey);
  const [draft, setDraft] = useState<Draft>(emptyDraft);
  const set = (change: Partial<Draft>) => setDraft((before) => ({ ...before, ...change }));

  const settled = useSettled(draft);
  const wanted = quoting(settled, currency);
  const quote = useQuery({
    queryKey: ["quote", wanted],
    queryFn: ({ signal }) => data(api.POST("/orders/quote", { body: wanted!, signal })),
    enabled: wanted !== null,
    placeholderData: keepPreviousData,
    staleTime: 0,
  });
  const current = wanted !== null && settled === draft && !quote.isPlaceholderData && quote.data;
  const place = useMutation({
    mutationFn: () =>
      data(
        api.POST("/orders", {
          body: { ...placing(draft, currency), expectedTotalMinor: current ? current.totalMinor : undefined },
          params: { header: { "Idempotency-Key": once } },
        }),
      ),
    onSuccess: (order) => {
      void queries.invalidateQueries({ queryKey: ["orders"] });
      toast(`Order ${order.orderId} is placed`);
      void navigate({ to: "/orders/$id", params: { id: order.id } });
    },
    onError: () => void quote.refetch(),
  });
  const refused = place.error instanceof ApiError ? place.error : undefined;
  const unreadable = draft.discount.trim() !== "" && parseMoney(draft.discount, currency) === null;
  function submit(event: FormEvent) {
    event.preventDefault();
    place.mutate();
  }
  return (
    <>
      <PageHeader
        title="New order"
        about="For guests at the counter or on the phone."
        actions={
          <Button asChild variant="outline">
            <Link to="/orders">Back to the orders</Link>
          </Button>
        }
      />
      <form onSubmit={submit} className="grid items-start gap-4 lg:grid-cols-[3fr_2fr]">
        <div className="grid gap-4">
          <Menu draft={draft} onPick={(product, quantity) => setDraft((before) => withProduct(before, product, quantity))} />
          <Card title="Guest">
            <div className="grid gap-4 sm:grid-cols-2">
              {atLeast("MANAGER") && (
                <CustomerPicker
                  className="sm:col-span-2"
                  picked={draft.customerId}
                  onPick={(customer) =>
                    set(customer ? { customerId: customer.id, name: `${customer.firstName} ${customer.lastName}`.trim() } : { customerId: undefined, name: "" })
                  }
                />
              )}
              {!draft.customerId && (
                <>
                  <TextField
                    label="Name"
                    required
                    maxLength={200}
                    autoComplete="off"
                    value={draft.name}
                    onChange={(event) => set({ name: event.target.value })}
                    error={refused?.at("customer.name")}
                    className="sm:col-span-2"
                  />
                  <TextField
                    label="Phone"
                    type="tel"
                    autoComplete="off"
                    hint="With the country: +49 151 2345678"
                    value={draft.phone}
                    onChange={(event) => set({ phone: event.target.value })}
                    error={refused?.at("customer.phone")}
                  />
                  <TextField
                    label="E-mail"
                    type="email"
                    autoComplete="off"
                    value={draft.email}
                    onChange={(event) => set({ email: event.target.value })}
                    error={refused?.at("customer.email")}
                  />
                </>
              )}
            </div>
          </Card>
          {draft.fulfillmentType === "DELIVERY" && <DeliveryAddress draft={draft} set={set} refused={refused} />}
        </div>
        <Card title="Order" className="lg:sticky lg:top-4">
          <div className="grid gap-4">
            <Choice label="Fulfilment" value={draft.fulfillmentType} options={fulfillments} onChange={(fulfillmentType) => set({ fulfillmentType })} />
            {draft.lines.length === 0 && <p className="rounded-md border border-dashed p-4 text-center text-sm text-muted-foreground">Pick from the menu.</p>}
            <ul className="grid gap-2">
              {draft.lines.map((line, i) => (
                <li key={line.productId} className="grid gap-1 text-sm">
                  <div className="flex items-center gap-2">
                    <span className="min-w-0 flex-1 break-words">{line.name}</span>
                    <Quantity name={line.name} value={line.quantity} onChange={(quantity) => setDraft((before) => withProduct(before, { id: line.productId, name: line.name }, quantity))} />
                  </div>
                  <LineFault error={place.error ?? quote.error} index={i} />
                </li>
              ))}
            </ul>
            {atLeast("MANAGER") && (
              <TextField
                label={`Discount in ${currency}`}
                inputMode="decimal"
                placeholder="0"
                value={draft.discount}
                onChange={(event) => set({ discount: event.target.value })}
                error={unreadable ? "This is no amount" : refused?.at("discountMinor")}
              />
            )}
            <SelectField label="Placed" value={draft.source} onChange={(event) => set({ source: event.target.value as Draft["source"] })}>
              <option value="PHONE">{sources.PHONE}</option>
              <option value="POS">{sources.POS}</option>
            </SelectField>
            <Field label="Note" error={refused?.at("note")}>
              {(ids) => <Textarea {...ids} maxLength={1000} placeholder="No onions, please." value={draft.note} onChange={(event) => set({ note: event.target.value })} />}
            </Field>
            <div aria-live="polite" className={current ? undefined : "opacity-60"}>
              {wanted && quote.data && <Totals of={quote.data} />}
              {wanted && <Failure error={quote.error} retry={() => void quote.refetch()} className="mt-2" />}
            </div>
            {refused?.code === "TOTAL_MISMATCH" ? (
              <p role="alert" className="rounded-md border border-warning/40 p-3 text-sm text-warning">
                A price has just changed. Look at the new total, then place the order.
              </p>
            ) : (
              <Failure error={place.error} />
            )}
            <Button type="submit" busy={place.isPending} disabled={!current || quote.isError || unreadable}>
              Place the order
            </Button>
          </div>
        </Card>
      </form>
    </>
  );
}

function LineFault({ error, index }: { error: unknown; index: number }) {
  if (!(error instanceof ApiError)) return null;
  const fault = error.at(`items[${index}].productId`) ?? error.at(`items[${index}].quantity`);
  return fault ? <p className="text-xs text-danger">It {fault}</p> : null;
}

function Quantity({ name, value, onChange }: { name: string; value: number; onChange: (quantity: number) => void }) {
  return (
    <span className="inline-flex items-center gap-1">
      <Button variant="outline" size="icon" className="size-8" aria-label={`One ${name} less`} onClick={() => onChange(value - 1)}>
        <Minus />
      </Button>
      <input
        aria-label={`How many ${name}`}
        inputMode="numeric"
        className="h-8 w-12 rounded-md border bg-surface text-center text-sm tabular-nums"
        value={value}
        onChange={(event) => {
          const quantity = Number(event.target.value.replace(/\D/g, ""));
          if (quantity > 0) onChange(quantity);
        }}
      />
      <Button variant="outline" size="icon" className="size-8" aria-label={`One ${name} more`} onClick={() => onChange(value + 1)}>
        <Plus />
      </Button>
    </span>
  );
}

function Menu({ draft, onPick }: { draft: Draft; onPick: (product: Product, quantity?: number) => void }) {
  const { currency } = useSession();
  const [q, setQ] = useState("");
  const products = useList<Product>(["products", "menu", q], (cursor) =>
    api.GET("/products", { params: { query: { q: q || undefined, isAvailable: true, cursor, limit: 50 } } }),
  );
  return (
    <Card title="Menu">
      <SearchField label="Search the menu" value={q} onSearch={setQ} className="mb-3" />
      <QueryState of={products} />
      {products.data && products.rows.length === 0 && <p className="p-4 text-center text-sm text-muted-foreground">Nothing fits.</p>}
      <ul className="grid gap-2 sm:grid-cols-2">
        {products.rows.map((product) => {
          const price = priceIn(product, currency);
          const out = product.stockQuantity === 0;
          const picked = draft.lines.find((line) => line.productId === product.id)?.quantity;
          return (
            <li key={product.id}>
              <button
                type="button"
                disabled={price === undefined || out}
                onClick={() => onPick(product)}
                className="flex w-full items-center gap-2 rounded-md border p-2.5 text-left text-sm hover:bg-muted disabled:opacity-60"
              >
                <span className="min-w-0 flex-1">
                  <span className="block truncate font-medium">{product.name}</span>
                  <span className="block truncate text-xs text-muted-foreground">
                    {price === undefined ? `no price in ${currency}` : out ? "sold out" : product.stockQuantity === undefined ? product.category : `${product.stockQuantity} left`}
                  </span>
                </span>
                {price !== undefined && <Money minor={price} currency={currency} />}
                {picked && <span className="rounded-full bg-primary px-2 text-xs font-semibold text-primary-foreground tabular-nums">{picked}</span>}
              </button>
            </li>
          );
        })}
      </ul>
      <More list={products} />
    </Card>
  );
}

function DeliveryAddress({ draft, set, refused }: { draft: Draft; set: (change: Partial<Draft>) => void; refused?: ApiError }) {
  const field = (name: keyof Draft["address"]) => ({
    value: draft.address[name],
    autoComplete: "off",
    onChange: (event: { target: { value: string } }) => set({ address: { ...draft.address, [name]: event.target.value } }),
    error: refused?.at(`deliveryAddress.${name}`),
  });
  return (
    <Card title="Deliver to">
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField label="Street and number" required maxLength={200} {...field("line1")} />
        <TextField label="Floor, door" maxLength={200} {...field("line2")} />
        <TextField label="Postal code" maxLength={20} {...field("postalCode")} />
        <TextField label="Town" required maxLength={100} {...field("city")} />
        <TextField label="Country" required minLength={2} maxLength={2} hint="Two letters: DE" {...field("country")} />
        <TextField label="For the courier" maxLength={500} {...field("notes")} />
      </div>
    </Card>
  );
}
