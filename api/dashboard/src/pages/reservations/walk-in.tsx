import { ComandaError } from "@comanda/client";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { api, data, newIdempotencyKey } from "@/api/client";
import { errorMessage } from "@/api/error-message";
import { useInvalidate } from "@/api/queries";
import { Button } from "@/ui/button";
import { useToast } from "@/ui/toast";

/** The sizes of parties that are seated with one tap. A larger one is added like another reservation. */
const sizes = [1, 2, 3, 4, 5, 6];

/** An attempt to seat guests. A repetition sends the same request, so that it reserves their seats once. */
type Attempt = { key: string; partySize: number; startAt: string };

const newAttempt = (partySize: number): Attempt => ({
  key: newIdempotencyKey(),
  partySize,
  startAt: new Date().toISOString(),
});

/** Reserves seats from now on for guests without a reservation, and confirms that. */
async function seat({ key, ...body }: Attempt) {
  const made = await data(
    api.POST("/reservations", {
      params: { header: { "Idempotency-Key": key } },
      body: { customer: { name: "Walk-in" }, ...body },
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
  // The attempt that the service has neither completed nor refused.
  const [unfinished, setUnfinished] = useState<Attempt>();
  const walkIn = useMutation({
    mutationFn: seat,
    onSuccess: ({ partySize }) => {
      setUnfinished(undefined);
      toast(partySize === 1 ? "1 guest seated" : `${partySize} guests seated`);
    },
    onError: (error, attempt) => {
      const refused = error instanceof ComandaError && error.status >= 400 && error.status < 500;
      setUnfinished(refused && error.status !== 429 ? undefined : attempt);
      toast(`${errorMessage(error)}${refused ? "" : " Seat the same number again: no seats are reserved twice."}`, {
        error: true,
      });
    },
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
          onClick={() => walkIn.mutate(unfinished?.partySize === size ? unfinished : newAttempt(size))}
        >
          {size}
        </Button>
      ))}
    </div>
  );
}
