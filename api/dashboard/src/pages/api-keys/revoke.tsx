import { useMutation, useQueryClient } from "@tanstack/react-query";

import { api, data } from "@/api/client";
import { FormDialog } from "@/ui/dialog";
import { Time } from "@/ui/format";
import { useToast } from "@/ui/toast";

import { keysKey } from "./page";
import type { APIKey } from "./scopes";

export function RevokeDialog({ apiKey, onClose }: { apiKey: APIKey; onClose: () => void }) {
  const queries = useQueryClient();
  const toast = useToast();
  const revoke = useMutation({
    mutationFn: () => data(api.POST("/api-keys/{id}/revoke", { params: { path: { id: apiKey.id } } })),
    onSuccess: () => {
      toast(`${apiKey.name} is revoked`);
      onClose();
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keysKey }),
  });
  return (
    <FormDialog
      danger
      onClose={onClose}
      title={`Revoke ${apiKey.name}?`}
      description="Whatever uses this key is refused from the next request on. It cannot be made good again."
      doing={revoke}
      onSubmit={() => revoke.mutate()}
      deed="Revoke"
      keep="Keep it"
    >
      <p className="text-sm">
        {apiKey.lastUsedAt ? (
          <>
            It was last used <Time at={apiKey.lastUsedAt} />. To replace it without a gap, create the new key and give it to your server first.
          </>
        ) : (
          "It has not been used yet."
        )}
      </p>
    </FormDialog>
  );
}
