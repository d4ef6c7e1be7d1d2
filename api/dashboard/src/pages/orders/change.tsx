import { useMutation, useQueryClient } from "@tanstack/react-query";

import { api, data, faultsIn } from "@/api/client";
import { wordsOf } from "@/api/words";
import { Button } from "@/ui/button";
import { FormDialog } from "@/ui/dialog";
import { Field, Textarea } from "@/ui/field";
import { useToast } from "@/ui/toast";

import { type Order, type Status, deeds, nextOf, statuses } from "./status";

type Change = { order: Order; status: Status; cancellationReason?: string };

/** Takes orders to other statuses, and shows what came of it wherever they are seen. */
export function useChangeStatus(onDone?: () => void) {
  const queries = useQueryClient();
  const toast = useToast();
  return useMutation({
    mutationFn: ({ order, status, cancellationReason }: Change) =>
      data(
        api.PATCH("/orders/{id}/status", {
          params: { path: { id: order.id }, header: { "If-Match": `"${order.version}"` } },
          body: { status, cancellationReason },
        }),
      ),
    onSuccess: (order) => {
      toast(`Order ${order.orderId}: ${statuses[order.status].toLowerCase()}`);
      onDone?.();
    },
    onError: (error) => toast(wordsOf(error), { bad: true }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["orders"] }),
  });
}

/** The one click to the next status. */
export function NextStep({ order, size }: { order: Order; size?: "small" }) {
  const change = useChangeStatus();
  const next = nextOf(order);
  if (!next) return null;
  return (
    <Button
      size={size}
      className={size && "w-full"}
      busy={change.isPending}
      aria-label={`${deeds[next]} order ${order.orderId}`}
      onClick={() => change.mutate({ order, status: next })}
    >
      {deeds[next]}
    </Button>
  );
}

export function CancelDialog({ order, onClose }: { order: Order; onClose: () => void }) {
  const change = useChangeStatus(onClose);
  const submit = (form: FormData) => change.mutate({ order, status: "CANCELLED", cancellationReason: String(form.get("reason")) });
  const wrong = faultsIn(change.error);
  const paid = order.paidMinor > order.refundedMinor;
  return (
    <FormDialog
      onClose={onClose}
      title={`Cancel order ${order.orderId}?`}
      description={`A cancelled order stays cancelled; what it took goes back into stock.${paid ? " It has been paid: give the money back too." : ""}`}
      doing={change}
      onSubmit={submit}
      deed="Cancel the order"
      keep="Keep it"
      danger
    >
      <Field label="Reason" hint="The guest and connected systems can see it." error={wrong("cancellationReason")}>
        {(ids) => <Textarea {...ids} name="reason" required maxLength={500} placeholder="The kitchen is closed." />}
      </Field>
    </FormDialog>
  );
}
