import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, data, faultsIn, idempotencyKey } from "@/api/client";
import type { components } from "@/api/schema";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { FormDialog } from "@/ui/dialog";
import { SelectField, TextField } from "@/ui/field";
import { Money, Time, formatMoney, parseMoney, plainMoney } from "@/ui/format";
import { More, useList } from "@/ui/more";
import { Badge, Card, QueryState } from "@/ui/page";
import { useToast } from "@/ui/toast";

import type { Order } from "./status";

type Payment = components["schemas"]["Payment"];

/** What providers did about an order, and what was given back of it. */
export function Payments({ order, refetchInterval }: { order: Order; refetchInterval?: number }) {
  const { atLeast } = useSession();
  const payments = useList<Payment>(["orders", "payments", order.id], (cursor) => api.GET("/orders/{id}/payments", { params: { path: { id: order.id }, query: { cursor } } }), {
    refetchInterval,
  });
  const [recording, setRecording] = useState(false);
  const [refunding, setRefunding] = useState<Payment | null>(null);
  return (
    <Card
      title="Payments"
      actions={
        <Button size="small" variant="outline" onClick={() => setRecording(true)}>
          Record a payment
        </Button>
      }
    >
      <QueryState of={payments} />
      {payments.data && payments.rows.length === 0 && <p className="text-sm text-muted-foreground">Nothing has been paid yet.</p>}
      <ul className="grid gap-3">
        {payments.rows.map((payment) => (
          <li key={payment.id} className="grid gap-2 rounded-md border p-3 text-sm">
            <div className="flex flex-wrap items-center gap-2">
              <span className="font-medium">
                <Money minor={payment.amountMinor} currency={payment.currency} />
              </span>
              <Badge tone={payment.status === "SUCCEEDED" ? "good" : "bad"}>{payment.status === "SUCCEEDED" ? "Succeeded" : "Failed"}</Badge>
              <span className="text-muted-foreground">
                {payment.provider} · {payment.paymentMethod}
                {payment.cardLast4 && ` ···· ${payment.cardLast4}`}
              </span>
              {atLeast("MANAGER") && left(payment) > 0 && (
                <Button size="small" variant="outline" className="ml-auto" onClick={() => setRefunding(payment)}>
                  Refund
                </Button>
              )}
            </div>
            <p className="text-xs break-all text-muted-foreground">
              <Time at={payment.createdAt} /> · {payment.transactionId}
              {payment.errorCode && ` · ${payment.errorCode}`}
            </p>
            {payment.refunds.map((refund) => (
              <p key={refund.id} className="border-l-2 pl-3 text-xs">
                <Money minor={-refund.amountMinor} currency={refund.currency} /> · <Time at={refund.createdAt} /> · <span className="break-words">{refund.reason}</span>
              </p>
            ))}
          </li>
        ))}
      </ul>
      <More list={payments} />
      {recording && <RecordDialog order={order} onClose={() => setRecording(false)} />}
      {refunding && <RefundDialog payment={refunding} onClose={() => setRefunding(null)} />}
    </Card>
  );
}

const left = (payment: Payment) => (payment.status === "SUCCEEDED" ? payment.amountMinor - payment.refundedMinor : 0);

function RecordDialog({ order, onClose }: { order: Order; onClose: () => void }) {
  const queries = useQueryClient();
  const toast = useToast();
  const [once] = useState(idempotencyKey);
  const [transaction] = useState(() => `cash-${order.orderId}-${Date.now().toString(36)}`);
  const due = Math.max(0, order.totalMinor - (order.paidMinor - order.refundedMinor));
  const [amount, setAmount] = useState(plainMoney(due, order.currency));
  const minor = parseMoney(amount, order.currency);
  const record = useMutation({
    mutationFn: (body: components["schemas"]["RecordPaymentRequest"]) =>
      data(api.POST("/orders/{id}/payments", { params: { path: { id: order.id }, header: { "Idempotency-Key": once } }, body })),
    onSuccess: () => {
      toast("The payment is recorded");
      void queries.invalidateQueries({ queryKey: ["orders"] });
      onClose();
    },
  });
  function submit(form: FormData) {
    record.mutate({
      provider: String(form.get("provider")),
      transactionId: String(form.get("transactionId")),
      paymentMethod: String(form.get("paymentMethod")),
      status: "SUCCEEDED",
      amountMinor: minor!,
      currency: order.currency,
    });
  }
  const wrong = faultsIn(record.error);
  return (
    <FormDialog
      onClose={onClose}
      title={`Record a payment of order ${order.orderId}`}
      description="For money that has come in: cash, or a card terminal of its own. Nothing is charged here."
      doing={record}
      onSubmit={submit}
      deed="Record"
      disabled={!minor}
      className="sm:grid-cols-2"
    >
      <TextField
        label={`Amount in ${order.currency}`}
        inputMode="decimal"
        required
        value={amount}
        onChange={(event) => setAmount(event.target.value)}
        error={amount && !minor ? "This is no amount" : wrong("amountMinor")}
      />
      <SelectField label="Paid with" name="paymentMethod" defaultValue="cash" error={wrong("paymentMethod")}>
        <option value="cash">Cash</option>
        <option value="card">Card</option>
        <option value="voucher">Voucher</option>
      </SelectField>
      <TextField label="Provider" name="provider" required defaultValue="CASH" maxLength={50} error={wrong("provider")} />
      <TextField
        label="Transaction"
        name="transactionId"
        required
        defaultValue={transaction}
        maxLength={255}
        hint="The terminal's or the provider's number."
        error={wrong("transactionId")}
      />
    </FormDialog>
  );
}

function RefundDialog({ payment, onClose }: { payment: Payment; onClose: () => void }) {
  const { locale } = useSession();
  const queries = useQueryClient();
  const toast = useToast();
  const [once] = useState(idempotencyKey);
  const [number] = useState(() => `refund-${Date.now().toString(36)}`);
  const [amount, setAmount] = useState(plainMoney(left(payment), payment.currency));
  const minor = parseMoney(amount, payment.currency);
  const tooMuch = minor !== null && minor > left(payment);
  const refund = useMutation({
    mutationFn: (body: components["schemas"]["RefundPaymentRequest"]) =>
      data(api.POST("/payments/{id}/refunds", { params: { path: { id: payment.id }, header: { "Idempotency-Key": once } }, body })),
    onSuccess: () => {
      toast("The refund is recorded");
      void queries.invalidateQueries({ queryKey: ["orders"] });
      onClose();
    },
  });
  function submit(form: FormData) {
    refund.mutate({ amountMinor: minor!, reason: String(form.get("reason")), providerRefundId: String(form.get("providerRefundId")) });
  }
  const wrong = faultsIn(refund.error);
  return (
    <FormDialog
      onClose={onClose}
      title="Record a refund"
      description={`Give the money back with ${payment.provider} first; this notes it in the books. At most ${formatMoney(left(payment), payment.currency, locale)}.`}
      doing={refund}
      onSubmit={submit}
      deed="Record the refund"
      disabled={!minor || tooMuch}
    >
      <TextField
        label={`Amount in ${payment.currency}`}
        inputMode="decimal"
        required
        value={amount}
        onChange={(event) => setAmount(event.target.value)}
        error={tooMuch ? "This is more than is left of the payment" : amount && !minor ? "This is no amount" : wrong("amountMinor")}
      />
      <TextField label="Reason" name="reason" required maxLength={500} placeholder="The pizza was cold." error={wrong("reason")} />
      <TextField
        label="Refund number"
        name="providerRefundId"
        required
        defaultValue={number}
        maxLength={255}
        hint={`As ${payment.provider} calls it.`}
        error={wrong("providerRefundId")}
      />
    </FormDialog>
  );
}
