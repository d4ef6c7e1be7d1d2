import type { components } from "@comanda/client";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { api, data, fieldErrors, newIdempotencyKey } from "@/api/client";
import * as limits from "@/api/limits";
import { useInvalidate, queries } from "@/api/queries";
import { RefundDialog } from "@/components/refund-dialog";
import { formatMoney, localDecimals, parseMoney, plainMoney } from "@/domain/money";
import type { Order } from "@/domain/orders";
import { type Payment, canRefund, originOf, providers } from "@/domain/payments";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { FormDialog } from "@/ui/dialog";
import { SelectField, TextField } from "@/ui/field";
import { Money, Time } from "@/ui/format";
import { ShowMore, useList } from "@/ui/list";
import { Badge, Card, QueryState } from "@/ui/page";
import { useToast } from "@/ui/toast";

/** The payments of an order, with their refunds. */
export function Payments({ order, refetchInterval }: { order: Order; refetchInterval?: number }) {
  const { atLeast } = useSession();
  const payments = useList(queries.orders.paymentsOf(order.id), { refetchInterval });
  const [recording, setRecording] = useState(false);
  const [refunding, setRefunding] = useState<Payment | null>(null);
  return (
    <Card
      title="Payments"
      actions={
        <Button size="small" variant="outline" onClick={() => setRecording(true)}>
          Record payment
        </Button>
      }
    >
      <QueryState query={payments} />
      {payments.data && payments.rows.length === 0 && (
        <p className="text-sm text-muted-foreground">No payments yet. Payments appear here when they are recorded.</p>
      )}
      <ul className="grid gap-3">
        {payments.rows.map((payment) => (
          <li key={payment.id} className="grid gap-2 rounded-md border p-3 text-sm">
            <div className="flex flex-wrap items-center gap-2">
              <span className="font-medium">
                <Money minor={payment.amountMinor} currency={payment.currency} />
              </span>
              <Badge tone={payment.status === "SUCCEEDED" ? "good" : "bad"}>
                {payment.status === "SUCCEEDED" ? "Succeeded" : "Failed"}
              </Badge>
              {payment.tipMinor > 0 && (
                <span>
                  with <Money minor={payment.tipMinor} currency={payment.currency} /> tip
                </span>
              )}
              <span className="text-muted-foreground">
                {Object.values(originOf(payment)).join(" · ")}
                {payment.cardLast4 && ` ···· ${payment.cardLast4}`}
              </span>
              {atLeast("MANAGER") && canRefund(payment) && (
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
                <Money minor={-refund.amountMinor} currency={refund.currency} />
                {refund.tipMinor > 0 && (
                  <>
                    {" "}
                    with <Money minor={refund.tipMinor} currency={refund.currency} /> tip
                  </>
                )}{" "}
                · <Time at={refund.createdAt} /> · <span className="break-words">{refund.reason}</span>
              </p>
            ))}
          </li>
        ))}
      </ul>
      <ShowMore list={payments} />
      {recording && <RecordDialog order={order} onClose={() => setRecording(false)} />}
      {refunding && <RefundDialog payment={refunding} onClose={() => setRefunding(null)} />}
    </Card>
  );
}

type Method = keyof typeof providers;

function RecordDialog({ order, onClose }: { order: Order; onClose: () => void }) {
  const { locale } = useSession();
  const invalidate = useInvalidate();
  const toast = useToast();
  const [idempotencyKey] = useState(newIdempotencyKey);
  const [transaction] = useState(() => `order-${order.orderId}-${Date.now().toString(36)}`);
  const due = order.outstandingMinor;
  const [amount, setAmount] = useState(plainMoney(due, order.currency));
  const [tip, setTip] = useState("");
  const minor = parseMoney(amount, order.currency);
  const tipMinor = tip.trim() ? parseMoney(tip, order.currency) : 0;
  const tipTooMuch = tipMinor !== null && minor !== null && tipMinor > minor;
  const beyond = (minor ?? 0) - (tipMinor ?? 0) - due;
  const [provider, setProvider] = useState(providers.cash);
  const record = useMutation({
    mutationFn: (body: components["schemas"]["RecordPaymentRequest"]) =>
      data(
        api.POST("/orders/{id}/payments", {
          params: { path: { id: order.id }, header: { "Idempotency-Key": idempotencyKey } },
          body,
        }),
      ),
    onSuccess: () => {
      toast("Payment recorded");
      void invalidate("orders");
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
      tipMinor: tipMinor!,
      currency: order.currency,
    });
  }
  const fieldError = fieldErrors(record.error);
  return (
    <FormDialog
      onClose={onClose}
      title={`Record payment for order ${order.orderId}`}
      description="Record money received in cash or with a separate terminal. This does not charge the guest."
      mutation={record}
      onSubmit={submit}
      submitLabel="Record"
      disabled={!minor || tipMinor === null || tipTooMuch}
      className="sm:grid-cols-2"
    >
      <TextField
        label={`Amount in ${order.currency}`}
        inputMode="decimal"
        required
        value={amount}
        onChange={(event) => setAmount(event.target.value)}
        hint={beyond > 0 ? `${formatMoney(beyond, order.currency, locale)} more than is outstanding.` : undefined}
        error={amount && !minor ? `Enter an amount, such as ${localDecimals("12.50")}` : fieldError("amountMinor")}
      />
      <TextField
        label={`Of which tip in ${order.currency}`}
        inputMode="decimal"
        value={tip}
        onChange={(event) => setTip(event.target.value)}
        hint="A tip does not count toward the order."
        error={
          tipTooMuch
            ? "The tip exceeds the amount"
            : tipMinor === null
              ? `Enter an amount, such as ${localDecimals("2.50")}`
              : fieldError("tipMinor")
        }
      />
      <SelectField
        label="Payment method"
        name="paymentMethod"
        defaultValue="cash"
        error={fieldError("paymentMethod")}
        onChange={(event) => {
          // A provider that the user has entered stays.
          if (Object.values(providers).includes(provider)) setProvider(providers[event.target.value as Method]);
        }}
      >
        <option value="cash">Cash</option>
        <option value="card">Card</option>
        <option value="voucher">Voucher</option>
      </SelectField>
      <TextField
        label="Provider"
        name="provider"
        required
        value={provider}
        onChange={(event) => setProvider(event.target.value)}
        maxLength={50}
        error={fieldError("provider")}
      />
      <TextField
        label="Transaction ID"
        name="transactionId"
        defaultValue={transaction}
        {...limits.RecordPaymentRequest.transactionId}
        hint="The number given by the terminal or the provider."
        error={fieldError("transactionId")}
      />
    </FormDialog>
  );
}
