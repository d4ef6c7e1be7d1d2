import { Link } from "@tanstack/react-router";

import type { Delivery } from "@/domain/webhooks";
import { Time } from "@/ui/format";
import { inlineLink } from "@/ui/link";

/** The start of a queued delivery: its estimated time or, while it is held back, the delivery that has the turn. */
export function Start({ delivery: { waitsFor, scheduledFor } }: { delivery: Delivery }) {
  if (waitsFor)
    return (
      <>
        waits for{" "}
        <Link to="/webhooks/deliveries/$id" params={{ id: waitsFor }} className={inlineLink}>
          another delivery
        </Link>
      </>
    );
  return scheduledFor === null ? "waits for its turn" : <Time at={scheduledFor} seconds />;
}
