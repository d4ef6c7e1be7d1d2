import { useMutation } from "@tanstack/react-query";

import { api, data, newIdempotencyKey } from "@/api/client";
import { useInvalidate } from "@/api/queries";
import { Button } from "@/ui/button";
import { useErrorToast, useToast } from "@/ui/toast";

/** The sizes of parties that are seated with one tap. A larger one is added like another reservation. */
const sizes = [1, 2, 3, 4, 5, 6];

/** Reserves seats from now on for guests without a reservation, and confirms that. */
async function seat(partySize: number) {
  const made = await data(
    api.POST("/reservations", {
      params: { header: { "Idempotency-Key": newIdempotencyKey() } },
      body: { customer: { name: "Walk-in" }, partySize, startAt: new Date().toISOString() },
    }),
  );
  return data(
    api.PATCH("/reservations/{id}/status", { params: { path: { id: made.id } }, body: { status: "CONFIRMED" } }),
  );
}

/** Buttons that seat guests without a reservation. */
export function WalkIns() {
  const invalidate = useInvalidate();
  const toast = useToast();
  const showError = useErrorToast();
  const walkIn = useMutation({
    mutationFn: seat,
    onSuccess: ({ partySize }) => toast(partySize === 1 ? "1 guest seated" : `${partySize} guests seated`),
    onError: showError,
    onSettled: () => invalidate("reservations"),
  });
  return (
    <div role="group" aria-label="Seat a walk-in" className="flex flex-wrap items-center gap-2 sm:ml-auto">
      <span className="text-sm font-medium">Walk-in</span>
      {sizes.map((size) => (
        <Button
          key={size}
          variant="outline"
          size="icon"
          busy={walkIn.isPending}
          aria-label={size === 1 ? "Walk-in, 1 guest" : `Walk-in, ${size} guests`}
          className="tabular-nums"
          onClick={() => walkIn.mutate(size)}
        >
          {size}
        </Button>
      ))}
    </div>
  );
}
