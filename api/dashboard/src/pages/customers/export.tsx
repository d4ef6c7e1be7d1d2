import { useMutation } from "@tanstack/react-query";

import { api, data } from "@/api/client";
import type { Customer } from "@/domain/customers";
import { Button } from "@/ui/button";
import { download } from "@/ui/csv";
import { useErrorToast } from "@/ui/toast";

/** Downloads everything that is kept about a customer, as JSON. */
export function ExportButton({ customer: { id } }: { customer: Customer }) {
  const showError = useErrorToast();
  const load = useMutation({
    mutationFn: () => data(api.GET("/customers/{id}/export", { params: { path: { id } } })),
    onSuccess: (all) => download(`customer-${id}.json`, JSON.stringify(all, null, 2) + "\n", "application/json"),
    onError: showError,
  });
  return (
    <Button variant="outline" busy={load.isPending} onClick={() => load.mutate()}>
      Export
    </Button>
  );
}
