import { useMutation } from "@tanstack/react-query";

import { api, data } from "@/api/client";
import { useInvalidate } from "@/api/queries";
import { FormDialog } from "@/ui/dialog";
import { Time } from "@/ui/format";
import { useToast } from "@/ui/toast";

import type { APIKey } from "./types";

export function RevokeDialog({ apiKey, onClose }: { apiKey: APIKey; onClose: () => void }) {
  const invalidate = useInvalidate();
  const toast = useToast();
  const revoke = useMutation({
    mutationFn: () => data(api.POST("/api-keys/{id}/revoke", { params: { path: { id: apiKey.id } } })),
    onSuccess: () => {
      toast(`${apiKey.name} revoked`);
      onClose();
    },
    onSettled: () => invalidate("apiKeys"),
  });
  return (
    <FormDialog
      danger
      onClose={onClose}
      title={`Revoke ${apiKey.name}?`}
      description="All further requests with this key are refused. You cannot undo this."
      mutation={revoke}
      onSubmit={() => revoke.mutate()}
      submitLabel="Revoke"
      cancelLabel="Keep"
    >
      <p className="text-sm">
        {apiKey.lastUsedAt ? (
          <>
            Last used: <Time at={apiKey.lastUsedAt} />. To replace the key without downtime, first create a new key and
            configure your server to use it.
          </>
        ) : (
          "This key has never been used."
        )}
      </p>
    </FormDialog>
  );
}
