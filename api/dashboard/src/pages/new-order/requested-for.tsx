import type { ComandaError } from "@comanda/client";
import { useQuery } from "@tanstack/react-query";

import { fieldErrors } from "@/api/client";
import { errorMessage } from "@/api/error-message";
import { queries } from "@/api/queries";
import { fulfillments } from "@/domain/orders";
import { dayOf } from "@/domain/zone";
import { useSession } from "@/session/session";
import { Choice } from "@/ui/choice";
import { TextField } from "@/ui/field";
import { ShortTime } from "@/ui/format";
import { useNow } from "@/ui/now";

import type { Draft } from "./draft";

type Props = {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  refusal?: ComandaError;
  /** Whether the order is already placed, so that the opening hours no longer matter. */
  placed?: boolean;
};

/** When the guest wants an order: as soon as possible, or at a time in the store's time zone. */
export function RequestedFor({ draft, set, refusal, placed }: Props) {
  const { timezone } = useSession();
  const today = dayOf(useNow(60_000), timezone);
  const error =
    refusal?.code === "OUTSIDE_BOOKING_WINDOW" || (refusal?.code === "STORE_CLOSED" && draft.later)
      ? errorMessage(refusal)
      : fieldErrors(refusal)("requestedFor");
  const choose = (when: "now" | "later") =>
    set(when === "now" ? { later: false } : { later: true, day: draft.day || today, time: draft.time });
  return (
    <div className="grid gap-3">
      <Choice
        label="When"
        value={draft.later ? "later" : "now"}
        options={{ now: "As soon as possible", later: "At a time" }}
        onChange={choose}
      />
      {draft.later ? (
        <div className="grid gap-2">
          <div className="grid grid-cols-2 gap-3">
            <TextField
              label="Day"
              type="date"
              min={today}
              value={draft.day}
              onChange={(event) => set({ day: event.target.value })}
            />
            <TextField
              label="Time"
              type="time"
              value={draft.time}
              onChange={(event) => set({ time: event.target.value })}
            />
          </div>
          <p
            role={error ? "alert" : undefined}
            className={error ? "text-xs text-danger" : "text-xs text-muted-foreground"}
          >
            {error ?? `In the time zone ${timezone}.`}
          </p>
        </div>
      ) : (
        !placed && <Closed type={draft.fulfillmentType} />
      )}
    </div>
  );
}

/** Says that guests cannot order now. Users of the store can. */
function Closed({ type }: { type: Draft["fulfillmentType"] }) {
  const store = useQuery(queries.store);
  const state = store.data?.hours[type];
  if (!state || state.openNow) return null;
  const paused = store.data?.orderingPausedUntil;
  return (
    <p className="text-xs text-warning">
      {paused ? (
        <>
          Ordering is paused until <ShortTime at={paused} />.{" "}
        </>
      ) : (
        <>
          {fulfillments[type]} is closed now
          {state.nextOpenAt && (
            <>
              {" "}
              and opens on <ShortTime at={state.nextOpenAt} />
            </>
          )}
          .{" "}
        </>
      )}
      You can place the order; your shop cannot.
    </p>
  );
}
