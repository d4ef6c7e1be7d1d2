import { useMutation, useQuery } from "@tanstack/react-query";
import { ExternalLink } from "lucide-react";

import { api, data } from "@/api/client";
import { useInvalidate, queries } from "@/api/queries";
import type { Attempt, Delivery } from "@/domain/webhooks";
import { Button } from "@/ui/button";
import { useToast, useErrorToast } from "@/ui/toast";

import { ReplayButton } from "./replay-button";

/** The statuses in which a delivery can be replayed. */
const finished: Delivery["status"][] = ["delivered", "dead_letter", "cancelled"];

/** Returns the result of a retry for people. */
const retryResult = (made: Attempt) =>
  made.status === "delivered"
    ? `Attempt ${made.attemptNumber} delivered: HTTP ${made.statusCode}`
    : `Attempt ${made.attemptNumber} failed: ${made.error || `HTTP ${made.statusCode}`}`;

/** Returns a mutation that makes the next attempt of a retrying delivery now. */
export function useRetry() {
  const invalidate = useInvalidate();
  const toast = useToast();
  const showError = useErrorToast();
  return useMutation({
    mutationFn: (id: string) => data(api.POST("/deliveries/{id}/retry", { params: { path: { id } } })),
    onSuccess: (made) => toast(retryResult(made), { error: made.status !== "delivered" }),
    onError: showError,
    onSettled: () => invalidate("webhooks"),
  });
}

/** Retries or replays a delivery, and opens its workflow. */
export function DeliveryActions({ delivery }: { delivery: Delivery }) {
  const retry = useRetry();
  const webhook = useQuery(queries.webhooks.one(delivery.webhookId));
  return (
    <div className="flex flex-wrap items-center gap-2">
      {retry.data && (
        <p role="status" className="w-full text-sm">
          {retryResult(retry.data)}.
        </p>
      )}
      {delivery.status === "retrying" && (
        <Button size="small" busy={retry.isPending} onClick={() => retry.mutate(delivery.id)}>
          Retry now
        </Button>
      )}
      {finished.includes(delivery.status) && (
        <ReplayButton deliveryId={delivery.id} off={webhook.data?.isActive === false} />
      )}
      {delivery.workflowUrl && (
        <Button asChild variant="outline" size="small">
          <a href={delivery.workflowUrl} target="_blank" rel="noreferrer">
            <ExternalLink aria-hidden /> Open in Temporal
          </a>
        </Button>
      )}
    </div>
  );
}
