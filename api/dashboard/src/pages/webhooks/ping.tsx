import type { components } from "@comanda/client";
import { type UseMutationResult, useMutation } from "@tanstack/react-query";

import { api, data } from "@/api/client";
import { useInvalidate } from "@/api/queries";
import { cn } from "@/ui/cn";
import { formatMs } from "@/ui/duration";
import { Failure } from "@/ui/page";

type Result = components["schemas"]["WebhookTestResult"];

/** Returns a mutation that sends a test.ping event and waits for the response. */
export function useTest(id: string) {
  const invalidate = useInvalidate();
  return useMutation<Result, Error, void>({
    mutationFn: () => data(api.POST("/webhooks/{id}/test", { params: { path: { id } } })),
    onSettled: () => invalidate("webhooks"),
  });
}

export function TestResult({ test }: { test: UseMutationResult<Result, Error, void> }) {
  if (test.error) return <Failure error={test.error} />;
  if (test.isPending) {
    return (
      <p role="status" className="rounded-md border p-3 text-sm text-muted-foreground">
        Sending test.ping…
      </p>
    );
  }
  if (!test.data) return null;
  const { delivered, statusCode, responseTimeMs, error } = test.data;
  return (
    <p
      role="status"
      className={cn(
        "rounded-md border p-3 text-sm",
        delivered ? "border-success/40 text-success" : "border-danger/40 text-danger",
      )}
    >
      {delivered
        ? `Test delivered. Your server responded with ${statusCode} after ${formatMs(responseTimeMs)}.`
        : `Test failed: ${error ?? `HTTP ${statusCode}`}.`}
      {!delivered && statusCode === 401 && " Check that your server uses this webhook's secret."}
    </p>
  );
}
