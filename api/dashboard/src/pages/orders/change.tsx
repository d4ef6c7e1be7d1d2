import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent } from "react";

import { ApiError, api, data } from "@/api/client";
import { Button } from "@/ui/button";
import { Dialog, DialogActions } from "@/ui/dialog";
import { Field, Textarea } from "@/ui/field";
import { Failure } from "@/ui/page";
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
    onError: (error) => {
      const stale = error instanceof ApiError && (error.code === "VERSION_MISMATCH" || error.code === "INVALID_TRANSITION");
      toast(stale ? "Somebody else has just changed this order. Look at it once more." : error.message, { bad: true });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["orders"] }),
  });
}

/** The one click to the next status. */
export function NextStep({ order, size }: { order: Order; size?: "small" }) {
  const change = useChangeStatus();
  const next = nextOf(order);
  if (!next) return null;
  return (
    <Button size={size} className={size && "w-full"} busy={change.isPending} aria-label={`${deeds[next]} order ${order.orderId}`} onClick={() => change.mutate({ order, status: next })}>
      {deeds[next]}
    </Button>
  );
}

export function CancelDialog({ order, onClose }: { order: Order; onClose: () => void }) {
  const change = useChangeStatus(onClose);
  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    change.mutate({ order, status: "CANCELLED", cancellationReason: String(new FormData(event.currentTarget).get("reason")) });
  }
  const refused = change.error instanceof ApiError ? change.error : undefined;
  const paid = order.paidMinor > order.refundedMinor;
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Cancel order ${order.orderId}?`}
      description={`A cancelled order stays cancelled; what it took goes back into stock.${paid ? " It has been paid: give the money back too." : ""}`}
    >
      <form onSubmit={submit} className="grid gap-4">
        <Field label="Reason" hint="The guest and connected systems can see it." error={refused?.at("cancellationReason")}>
          {(ids) => <Textarea {...ids} name="reason" required maxLength={500} placeholder="The kitchen is closed." />}
        </Field>
        <Failure error={change.error} />
        <DialogActions>
          <Button variant="outline" onClick={onClose}>
            Keep it
          </Button>
          <Button variant="danger" type="submit" busy={change.isPending}>
            Cancel the order
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
