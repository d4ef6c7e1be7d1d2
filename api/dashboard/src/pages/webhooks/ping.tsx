import { type UseMutationResult, useMutation, useQueryClient } from "@tanstack/react-query";

import { api, data } from "@/api/client";
import type { components } from "@/api/schema";
import { formatMs } from "@/ui/duration";
import { Failure } from "@/ui/page";

import { webhooksKey } from "./data";

type Result = components["schemas"]["WebhookTestResult"];

/** Sends a test.ping and waits for what becomes of it. */
export function useTest(id: string) {
  const queries = useQueryClient();
  return useMutation<Result, Error, void>({
    mutationFn: () => data(api.POST("/webhooks/{id}/test", { params: { path: { id } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: webhooksKey }),
  });
}

export function TestResult({ test }: { test: UseMutationResult<Result, Error, void> }) {
  if (test.error) return <Failure error={test.error} />;
  if (test.isPending) {
    return (
      <p role="status" className="rounded-md border p-3 text-sm text-muted-foreground">
        A test.ping is on its way…
      </p>
    );
  }
  if (!test.data) return null;
  const { delivered, statusCode, responseTimeMs, error } = test.data;
  return (
    <p role="status" className={`rounded-md border p-3 text-sm ${delivered ? "border-success/40 text-success" : "border-danger/40 text-danger"}`}>
      {delivered ? `The test arrived: your server answered ${statusCode} after ${formatMs(responseTimeMs)}.` : `The test failed: ${error ?? `HTTP ${statusCode}`}.`}
      {!delivered && statusCode === 401 && " Does your server know this secret?"}
    </p>
  );
}
