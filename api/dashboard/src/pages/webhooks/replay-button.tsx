import { useMutation } from "@tanstack/react-query";
import { type ComponentProps, useState } from "react";

import { api, data } from "@/api/client";
import { useInvalidate } from "@/api/queries";
import { Button } from "@/ui/button";
import { FormDialog } from "@/ui/dialog";
import { useToast, useErrorToast } from "@/ui/toast";

type Props = { deliveryId: string; off: boolean } & Pick<ComponentProps<typeof Button>, "variant" | "aria-label">;

/** A button that replays a delivery. If its webhook is turned off, a dialog first says what happens. */
export function ReplayButton({ deliveryId, off, ...props }: Props) {
  const invalidate = useInvalidate();
  const toast = useToast();
  const showError = useErrorToast();
  const [asking, setAsking] = useState(false);
  const replay = useMutation({
    mutationFn: () => data(api.POST("/deliveries/{id}/replay", { params: { path: { id: deliveryId } } })),
    onSuccess: () => {
      setAsking(false);
      toast(
        off ? "Replay queued. It becomes a dead letter again, because the webhook is turned off." : "Replay queued",
      );
    },
    onError: showError,
    onSettled: () => invalidate("webhooks"),
  });
  return (
    <>
      <Button size="small" busy={replay.isPending} onClick={() => (off ? setAsking(true) : replay.mutate())} {...props}>
        Replay
      </Button>
      {asking && (
        <FormDialog
          title="Replay to a webhook that is turned off?"
          onClose={() => setAsking(false)}
          mutation={replay}
          onSubmit={() => replay.mutate()}
          submitLabel="Replay anyway"
        >
          <p className="text-sm">
            No request is sent while the webhook is turned off: the delivery becomes a dead letter again. Turn the
            webhook on, then replay.
          </p>
        </FormDialog>
      )}
    </>
  );
}
