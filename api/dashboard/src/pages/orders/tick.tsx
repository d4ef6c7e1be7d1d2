import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Check } from "lucide-react";

import { api, data } from "@/api/client";
import type { Order } from "@/domain/orders";
import { cn } from "@/ui/cn";
import { useErrorToast } from "@/ui/toast";

import { ItemDetails, ItemName } from "./item";
import { applyChanges } from "./order-changes";

type Props = { order: Order; item: Order["items"][number] };

/** A line of an order on the board. The kitchen ticks it with one tap, and takes the tick back with another. */
export function ItemLine({ order, item }: Props) {
  const client = useQueryClient();
  const showError = useErrorToast();
  const path = { id: order.id, itemId: item.id };
  const tick = useMutation({
    // The requests for one line keep their order.
    scope: { id: `tick ${item.id}` },
    mutationFn: (done: boolean) =>
      data(api.PUT("/orders/{id}/items/{itemId}/done", { params: { path }, body: { done } })),
    onSuccess: (changed) => applyChanges(client, [changed]),
    onError: showError,
  });
  const done = tick.isPending ? tick.variables : item.doneAt !== null;
  return (
    <button
      type="button"
      aria-pressed={done}
      className={cn(
        "-mx-1 flex min-h-6 items-center gap-1.5 rounded px-1 py-0.5 text-left hover:bg-muted pointer-coarse:min-h-11",
        done && "line-through",
      )}
      onClick={() => tick.mutate(!done)}
    >
      <span className="font-medium whitespace-nowrap text-foreground tabular-nums">
        {done && <Check className="mr-0.5 inline size-3" aria-hidden />}
        {item.quantity}×
      </span>
      <span className="min-w-0 [overflow-wrap:anywhere]">
        <ItemName item={item} viewId={order.storeViewId} />
        <ItemDetails item={item} viewId={order.storeViewId} />
      </span>
    </button>
  );
}
