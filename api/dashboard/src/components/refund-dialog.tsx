import type { components } from "@comanda/client";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { api, data, fieldErrors, newIdempotencyKey } from "@/api/client";
import * as limits from "@/api/limits";
import { useInvalidate } from "@/api/queries";
import { formatMoney, localDecimals, parseMoney, plainMoney } from "@/domain/money";
import { type Payment, originOf, providers, refundable } from "@/domain/payments";
import { useSession } from "@/session/session";
import { FormDialog } from "@/ui/dialog";
import { TextField } from "@/ui/field";
import { useToast } from "@/ui/toast";

/** Records a refund of a payment. The user first returns the money. */
export function RefundDialog({ payment, onClose }: { payment: Payment; onClose: () => void }) {
  const { locale } = useSession();
  const invalidate = useInvalidate();
  const toast = useToast();
  const [idempotencyKey] = useState(newIdempotencyKey);
  const [number] = useState(() => `refund-${Date.now().toString(36)}`);
  const [amount, setAmount] = useState(plainMoney(refundable(payment), payment.currency));
  const minor = parseMoney(amount, payment.currency);
  const tooMuch = minor !== null && minor > refundable(payment);
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
        `The refundable amount is ${formatMoney(refundable(payment), payment.currency, locale)}.`
      }
      mutation={refund}
      onSubmit={submit}
      submitLabel="Record refund"
      disabled={!minor || tooMuch}
    >
      <TextField
        label={`Amount in ${payment.currency}`}
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
        hint={payment.provider === providers.cash ? "A number of your choice." : `The number given by ${provider}.`}
        error={fieldError("providerRefundId")}
      />
    </FormDialog>
  );
}
