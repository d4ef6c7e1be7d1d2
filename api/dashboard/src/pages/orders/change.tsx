import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ChevronDown } from "lucide-react";
import { useState } from "react";

import { api, data, fieldErrors, ifMatch } from "@/api/client";
import * as limits from "@/api/limits";
import { useInvalidate } from "@/api/queries";
import { formatMoney } from "@/domain/money";
import { type Order, type Status, actionLabels, nextStatus, statuses } from "@/domain/orders";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { Dialog, DialogActions, FormDialog } from "@/ui/dialog";
import { Field, Textarea } from "@/ui/field";
import { useToast, useErrorToast } from "@/ui/toast";

import { applyChanges, readChanged } from "./order-changes";
import { usePrintAccepted } from "./print";
import { PromiseMenu } from "./promise";

type Change = { order: Order; status: Status; cancellationReason?: string; promisedAt?: string };

/** Returns a mutation that changes the status of an order and reloads all order queries. */
export function useChangeStatus(onDone?: () => void) {
  const client = useQueryClient();
  const invalidate = useInvalidate();
  const toast = useToast();
  const showError = useErrorToast();
  const printAccepted = usePrintAccepted();
  return useMutation({
    mutationFn: ({ order, status, cancellationReason, promisedAt }: Change) =>
      data(
        api.PATCH("/orders/{id}/status", {
          params: { path: { id: order.id }, header: ifMatch(order) },
          body: { status, cancellationReason, promisedAt },
        }),
      ),
    onSuccess: (order, { order: before }) => {
      applyChanges(client, [order]);
      if (before.status === "RECEIVED" && order.status !== "CANCELLED") printAccepted(order);
      toast(`Order ${order.orderId}: ${statuses[order.status].toLowerCase()}`);
      onDone?.();
    },
    onError: showError,
    onSettled: (_, error, { order }) => {
      if (error) void readChanged(client, [{ id: order.id, version: Infinity }]);
      return invalidate("orders");
    },
  });
}

/**
 * Returns the function that moves an order to a status. An unpaid order is completed only after a question, which the
 * caller renders.
 */
export function useStep(order: Order) {
  const change = useChangeStatus();
  const [unpaid, setUnpaid] = useState(false);
  return {
    isPending: change.isPending,
    step: (status: Status, promisedAt?: string) => {
      if (status === "COMPLETED" && order.outstandingMinor > 0) setUnpaid(true);
      else change.mutate({ order, status, promisedAt });
    },
    question: unpaid && (
      <CompleteUnpaidDialog
        order={order}
        onClose={() => setUnpaid(false)}
        onConfirm={() => {
          setUnpaid(false);
          change.mutate({ order, status: "COMPLETED" });
        }}
      />
    ),
  };
}

/** The button that moves an order to its next status. */
export function NextStep({ order }: { order: Order }) {
  const { isPending, step, question } = useStep(order);
  const next = nextStatus(order);
  if (!next) return null;
  return (
    <>
      {order.status === "RECEIVED" && (
        <PromiseMenu
          order={order}
          onChoose={(promisedAt) => step("CONFIRMED", promisedAt)}
          trigger={
            <Button variant="outline" busy={isPending}>
              Confirm for… <ChevronDown aria-hidden />
            </Button>
          }
        />
      )}
      <Button busy={isPending} aria-label={`${actionLabels[next]} order ${order.orderId}`} onClick={() => step(next)}>
        {actionLabels[next]}
      </Button>
      {question}
    </>
  );
}

/** Asks before an order is completed of which a part is not paid. */
export function CompleteUnpaidDialog({
  order,
  onClose,
  onConfirm,
}: {
  order: Order;
  onClose: () => void;
  onConfirm: () => void;
}) {
  const { locale } = useSession();
  return (
    <Dialog
      onClose={onClose}
      title={`Complete order ${order.orderId} without payment?`}
      description={
        `${formatMoney(order.outstandingMinor, order.currency, locale)} of this order is not recorded as paid. ` +
        "You can also record a payment after the order is completed."
      }
    >
      <DialogActions>
        <Button variant="outline" onClick={onClose}>
          Keep open
        </Button>
        <Button asChild variant="outline">
          <Link to="/orders/$id" params={{ id: order.id }} onClick={onClose}>
            Go to payments
          </Link>
        </Button>
        <Button onClick={onConfirm}>Complete without payment</Button>
      </DialogActions>
    </Dialog>
  );
}

export function CancelDialog({ order, onClose }: { order: Order; onClose: () => void }) {
  const change = useChangeStatus(onClose);
  const submit = (form: FormData) =>
    change.mutate({ order, status: "CANCELLED", cancellationReason: String(form.get("reason")) });
  const fieldError = fieldErrors(change.error);
  const paid = order.paidMinor > order.refundedMinor;
  return (
    <FormDialog
      onClose={onClose}
      title={`Cancel order ${order.orderId}?`}
      description={`You cannot undo this. The items return to stock.${paid ? " Refund the payment as well." : ""}`}
      mutation={change}
      onSubmit={submit}
      submitLabel="Cancel order"
      cancelLabel="Keep order"
      danger
    >
      <Field
        label="Reason"
        hint="Visible to the guest and to connected systems."
        error={fieldError("cancellationReason")}
      >
        {(ids) => (
          <Textarea
            {...ids}
            name="reason"
            required
            {...limits.ChangeOrderStatusRequest.cancellationReason}
            placeholder="The kitchen is closed."
          />
        )}
      </Field>
    </FormDialog>
  );
}
