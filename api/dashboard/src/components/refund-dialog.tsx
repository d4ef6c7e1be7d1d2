import type { components } from "@comanda/client";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { api, data, fieldErrors, newIdempotencyKey } from "@/api/client";
import * as limits from "@/api/limits";
import { queries, useInvalidate } from "@/api/queries";
import { formatMoney, localDecimals, parseMoney, plainMoney } from "@/domain/money";
import type { Order } from "@/domain/orders";
import { type Payment, originOf, proposedRefund, providers, refundable, refundableTip } from "@/domain/payments";
import { useSession } from "@/session/session";
import { FormDialog } from "@/ui/dialog";
import { TextField } from "@/ui/field";
import { useToast } from "@/ui/toast";

type Props = { payment: Payment; onClose: () => void };

/** Records a refund of a payment. The user first returns the money. */
export function RefundDialog(props: Props) {
  const order = useQuery(queries.orders.one(props.payment.order.id));
  // Without the order, the dialog still records a refund, but proposes no amount.
  return order.isPending ? null : <RefundForm {...props} order={order.data} />;
}

/** The minor units of an optional amount: 0 without a text, null if the text is not an amount. */
const parseOptional = (text: string, currency: string) => (text.trim() ? parseMoney(text, currency) : 0);

function RefundForm({ payment, order, onClose }: Props & { order?: Order }) {
  const { locale } = useSession();
  const invalidate = useInvalidate();
  const toast = useToast();
  const [idempotencyKey] = useState(newIdempotencyKey);
  const [number] = useState(() => `refund-${Date.now().toString(36)}`);
  const { currency } = payment;
  const [proposal] = useState(() => (order ? proposedRefund(payment, order) : { amountMinor: 0, tipMinor: 0 }));
  const shown = (minor: number) => (minor > 0 ? plainMoney(minor, currency) : "");
  const [amount, setAmount] = useState(shown(proposal.amountMinor));
  const [tip, setTip] = useState(shown(proposal.tipMinor));
  const tipLeft = refundableTip(payment);
  const minor = parseMoney(amount, currency);
  const tipMinor = parseOptional(tip, currency);
  const tipTooMuch = tipMinor !== null && (tipMinor > tipLeft || (minor !== null && tipMinor > minor));
  const tooMuch = minor !== null && minor - (tipMinor ?? 0) > refundable(payment);
  const refund = useMutation({
    mutationFn: (body: components["schemas"]["RefundPaymentRequest"]) =>
      data(
        api.POST("/payments/{id}/refunds", {
          params: { path: { id: payment.id }, header: { "Idempotency-Key": idempotencyKey } },
          body,
        }),
      ),
    onSuccess: () => {
      toast("Refund recorded");
      void invalidate("orders");
      onClose();
    },
  });
  function submit(form: FormData) {
    refund.mutate({
      amountMinor: minor!,
      tipMinor: tipMinor!,
      reason: String(form.get("reason")),
      providerRefundId: String(form.get("providerRefundId")),
    });
  }
  const provider = originOf(payment).name;
  const fieldError = fieldErrors(refund.error);
  return (
    <FormDialog
      onClose={onClose}
      title="Record refund"
      description={
        (payment.provider === providers.cash
          ? "First return the money to the guest, then record the refund here. "
          : `First refund the money with ${provider}, then record the refund here. `) +
        `The refundable amount is ${formatMoney(refundable(payment), currency, locale)}` +
        (tipLeft > 0 ? `, and ${formatMoney(tipLeft, currency, locale)} of tip.` : ".") +
        (order && proposal.amountMinor === 0 ? " The order itself leaves nothing to return." : "")
      }
      mutation={refund}
      onSubmit={submit}
      submitLabel="Record refund"
      disabled={!minor || tooMuch || tipMinor === null || tipTooMuch}
    >
      <TextField
        label={`Amount in ${currency}`}
        inputMode="decimal"
        required
        value={amount}
        onChange={(event) => setAmount(event.target.value)}
        error={
          tooMuch
            ? "The amount exceeds the refundable amount"
            : amount && !minor
              ? `Enter an amount, such as ${localDecimals("12.50")}`
              : fieldError("amountMinor")
        }
      />
      {tipLeft > 0 && (
        <TextField
          label={`Of which tip in ${currency}`}
          inputMode="decimal"
          value={tip}
          onChange={(event) => setTip(event.target.value)}
          hint={`Up to ${formatMoney(tipLeft, currency, locale)}. Without it, the guest's tip stays.`}
          error={
            tipTooMuch
              ? "The tip exceeds the amount or the rest of the payment's tip"
              : tipMinor === null
                ? `Enter an amount, such as ${localDecimals("2.50")}`
                : fieldError("tipMinor")
          }
        />
      )}
      <TextField
        label="Reason"
        name="reason"
        {...limits.RefundPaymentRequest.reason}
        placeholder="The pizza was cold."
        error={fieldError("reason")}
      />
      <TextField
        label="Refund ID"
        name="providerRefundId"
        defaultValue={number}
        {...limits.RefundPaymentRequest.providerRefundId}
        hint={
          payment.provider === providers.cash
            ? "A number that no other refund in cash has."
            : `The number given by ${provider}.`
        }
        error={fieldError("providerRefundId")}
      />
    </FormDialog>
  );
}
