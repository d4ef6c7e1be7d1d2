import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";

import { queries } from "@/api/queries";
import { RefundDialog } from "@/components/refund-dialog";
import { type Payment, canRefund, originOf } from "@/domain/payments";
import { addDays, startOfDay } from "@/domain/zone";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { TextField } from "@/ui/field";
import { Filter } from "@/ui/filter";
import { Money, Time } from "@/ui/format";
import { link } from "@/ui/link";
import { ShowMore, useList } from "@/ui/list";
import { Badge, Columns, Empty, PageHeader, QueryState, Table } from "@/ui/page";
import { SearchField } from "@/ui/search";

import { type PaymentsSearch, orderNumberOf, providerOf, statuses } from "./search";

const route = getRouteApi("/inside/payments");

/** The payments of the store. Refunds require the role MANAGER. */
export function PaymentsPage() {
  const { timezone } = useSession();
  const filters = route.useSearch();
  const navigate = useNavigate();
  const { order, status, provider, from, to } = filters;
  const payments = useList(
    queries.orders.payments({
      orderId: order,
      status,
      provider,
      from: from && startOfDay(from, timezone),
      to: to && startOfDay(addDays(to, 1), timezone),
    }),
  );
  const [refunding, setRefunding] = useState<Payment | null>(null);
  const filtered = Object.values(filters).some(Boolean);
  return (
    <>
      <PageHeader title="Payments" about="Payments that your shop or your team has recorded, newest first." />
      <Filters filters={filters} />
      <QueryState query={payments} className="mb-4" />
      {payments.data && payments.rows.length === 0 && (
        <Empty title={filtered ? "No payments match these filters" : "No payments yet"}>
          {filtered ? (
            <Button variant="outline" onClick={() => void navigate({ to: "/payments" })}>
              Clear filters
            </Button>
          ) : (
            <p>Payments appear here when they are recorded for an order.</p>
          )}
        </Empty>
      )}
      {payments.rows.length > 0 && (
        <Table label="Payments" stacked>
          <Columns
            names={[
              "Recorded",
              "Order",
              { right: "Amount" },
              "Status",
              "Provider",
              "Transaction",
              { hidden: "Actions" },
            ]}
          />
          <tbody>
            {payments.rows.map((payment) => (
              <Row key={payment.id} payment={payment} onRefund={() => setRefunding(payment)} />
            ))}
          </tbody>
        </Table>
      )}
      <ShowMore list={payments} />
      {refunding && <RefundDialog payment={refunding} onClose={() => setRefunding(null)} />}
    </>
  );
}

function Row({ payment, onRefund }: { payment: Payment; onRefund: () => void }) {
  const { atLeast } = useSession();
  const origin = originOf(payment);
  return (
    <tr className="hover:bg-muted/50">
      <td>
        <Time at={payment.createdAt} />
      </td>
      <td>
        <Link to="/orders/$id" params={{ id: payment.order.id }} className={cn(link, "font-medium")}>
          #{payment.orderId}
        </Link>
      </td>
      <td className="sm:text-right">
        <span className="font-medium">
          <Money minor={payment.amountMinor} currency={payment.currency} />
        </span>
        {payment.tipMinor > 0 && (
          <span className="block text-xs text-muted-foreground">
            with <Money minor={payment.tipMinor} currency={payment.currency} /> tip
          </span>
        )}
        {payment.refunds.length > 0 && (
          <span className="block text-xs text-muted-foreground">
            <Money minor={-payment.refundedMinor - payment.refundedTipMinor} currency={payment.currency} /> refunded
          </span>
        )}
      </td>
      <td>
        <Badge tone={payment.status === "SUCCEEDED" ? "good" : "bad"}>{statuses[payment.status]}</Badge>
        {payment.errorCode && (
          <span className="block max-w-40 text-xs break-words text-muted-foreground">{payment.errorCode}</span>
        )}
      </td>
      <td className="max-w-48">
        <span className="break-words">{origin.name}</span>
        <span className="block text-xs break-words text-muted-foreground">
          {origin.method}
          {payment.cardLast4 && ` ···· ${payment.cardLast4}`}
        </span>
      </td>
      <td className="max-w-56 text-xs break-all">{payment.transactionId}</td>
      <td className="sm:text-right">
        {atLeast("MANAGER") && canRefund(payment) && (
          <Button
            size="small"
            variant="outline"
            aria-label={`Refund the payment of order ${payment.orderId}`}
            onClick={onRefund}
          >
            Refund
          </Button>
        )}
      </td>
    </tr>
  );
}

function Filters({ filters }: { filters: PaymentsSearch }) {
  const navigate = useNavigate();
  const set = (change: PaymentsSearch) =>
    void navigate({ to: "/payments", search: { ...filters, ...change }, replace: true });
  const backwards = filters.from && filters.to && filters.to < filters.from;
  return (
    <div className="mb-4 grid grid-cols-2 items-start gap-3 lg:grid-cols-[1fr_1fr_1fr_10rem_10rem]">
      <Labelled label="Order">
        <SearchField
          label="Order number"
          value={filters.order ?? ""}
          onSearch={(text) => set({ order: orderNumberOf(text) })}
        />
      </Labelled>
      <Labelled label="Provider">
        <SearchField
          label="Name of the provider"
          value={filters.provider ?? ""}
          onSearch={(text) => set({ provider: providerOf(text.trim().replaceAll(" ", "_")) })}
        />
      </Labelled>
      <Labelled label="Status">
        <Filter
          label="Status"
          all="All payments"
          value={filters.status}
          options={statuses}
          onChange={(status) => set({ status })}
        />
      </Labelled>
      <TextField
        label="First day"
        type="date"
        value={filters.from ?? ""}
        onChange={(event) => set({ from: event.target.value || undefined })}
      />
      <TextField
        label="Last day"
        type="date"
        value={filters.to ?? ""}
        onChange={(event) => set({ to: event.target.value || undefined })}
        error={backwards ? "must not be before the first day" : undefined}
      />
    </div>
  );
}

const Labelled = ({ label, children }: { label: string; children: ReactNode }) => (
  <div className="grid gap-1.5">
    <span className="text-sm font-medium" aria-hidden>
      {label}
    </span>
    {children}
  </div>
);
