import { ComandaError } from "@comanda/client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";

import { api, data, ifMatch, newIdempotencyKey } from "@/api/client";
import { queries, useInvalidate } from "@/api/queries";
import { parseMoney } from "@/domain/money";
import { type Order, isChangeable } from "@/domain/orders";
import { useSession } from "@/session/session";
import { loadPhoneRules } from "@/ui/phone";
import { useToast } from "@/ui/toast";

import { type Edit, changeRequest, differences, draftOf, follow, rebase, theirChanges } from "./change";
import { type Draft, type Place, lacksTime, lineErrors } from "./draft";
import { lineFaults, refusalOf, isMenuChange, useProducts, useQuote } from "./use-new-order";

/** How often a change is sent again after changes by others that do not concern the form, such as a payment. */
const maxRepeats = 5;

type Sent = { edit: Edit; total: number };

const isStale = (refusal: ComandaError | undefined) =>
  refusal?.code === "VERSION_MISMATCH" || refusal?.code === "INVALID_TRANSITION";

/** Returns the mutation that saves a change. onStale reads the order again. */
function useSaving(id: string, place: Place, onStale: () => Promise<unknown>) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const invalidate = useInvalidate();
  const toast = useToast();
  // The key stays until the service has responded: if the response got lost, the next attempt repeats the first one.
  const [idempotencyKey, setIdempotencyKey] = useState(newIdempotencyKey);

  async function save({ edit, total }: Sent): Promise<Order> {
    if (!edit.draft.keepsGuest && edit.draft.phone) await loadPhoneRules();
    for (let repeats = 0; ; repeats++) {
      try {
        return await data(
          api.PATCH("/orders/{id}", {
            params: { path: { id }, header: { ...ifMatch(edit.base), "Idempotency-Key": idempotencyKey } },
            body: { ...changeRequest(edit, place), expectedTotalMinor: total },
          }),
        );
      } catch (error) {
        if (refusalOf(error)?.code !== "VERSION_MISMATCH" || repeats === maxRepeats) throw error;
        const current = await client.fetchQuery({ ...queries.orders.one(id), staleTime: 0 });
        const next = follow(edit, current, place.timezone);
        if (next === edit) throw error; // the form shows what another user has changed
        edit = next;
      }
    }
  }
  const saving = useMutation({
    mutationFn: save,
    onSuccess: (order) => {
      client.setQueryData(queries.orders.one(id).queryKey, order);
      void invalidate("orders");
      toast(`Order ${order.orderId} changed`);
      void navigate({ to: "/orders/$id", params: { id }, ignoreBlocker: true });
    },
    onError: (error) => {
      const refusal = refusalOf(error);
      const responded = refusal && refusal.status >= 400 && refusal.status < 500;
      if (responded && refusal.code !== "IDEMPOTENCY_KEY_REUSED") setIdempotencyKey(newIdempotencyKey());
      if (isMenuChange(refusal)) void invalidate("products");
      if (isStale(refusal) || refusal?.code === "TOTAL_MISMATCH") return onStale();
    },
  });
  return {
    ...saving,
    refusal: refusalOf(saving.error),
    renew: () => {
      setIdempotencyKey(newIdempotencyKey());
      saving.reset();
    },
  };
}

export type OrderEdit = ReturnType<typeof useChange>;

/** The state of the form that changes an order: the draft with its products, its price and its errors. */
export function useChange(current: Order) {
  const { country, timezone } = useSession();
  const place = { country, timezone };
  const { id, currency } = current;
  const client = useQueryClient();
  const [state, setState] = useState<Edit>(() => ({ base: current, draft: draftOf(current, timezone) }));
  const edit = follow(state, current, timezone);
  const { base, draft } = edit;
  const setDraft = (change: (draft: Draft) => Draft) =>
    setState((before) => {
      const { base, draft } = follow(before, current, timezone);
      return { base, draft: change(draft) };
    });
  const products = useProducts(draft.lines);
  const faults = lineFaults(draft.lines, products, currency);
  const body = changeRequest(edit, place);
  const invalidDiscount = draft.discount.trim() !== "" && parseMoney(draft.discount, currency) === null;
  const quotable = body !== null && faults.size === 0 && !lacksTime(draft) && !invalidDiscount;
  const quote = useQuote(quotable ? { version: base.version, body } : null, (wanted) => queries.amendment(id, wanted));
  const readAgain = async () => {
    await client.invalidateQueries({ queryKey: queries.orders.one(id).queryKey });
    return quote.refetch();
  };
  const saving = useSaving(id, place, readAgain);
  const stale = isStale(quote.refusal);
  useEffect(() => {
    if (stale) void client.invalidateQueries({ queryKey: queries.orders.one(id).queryKey });
  }, [stale, client, id]);

  const theirs = theirChanges(edit, current, timezone);
  // A line that was changed after the refusal is no longer at fault.
  const sent = saving.variables?.edit.draft.lines ?? [];
  const refusedLines = [...lineErrors(saving.refusal, sent, products)].filter(([key]) =>
    draft.lines.some((line) => line.key === key && sent.includes(line)),
  );
  const restart = (next: Edit) => {
    setState(next);
    saving.renew();
  };
  return {
    base,
    draft,
    setDraft,
    set: (change: Partial<Draft>) => setDraft((before) => ({ ...before, ...change })),
    products,
    quote,
    saving,
    save: () => {
      if (quote.current && !saving.isPending) saving.mutate({ edit, total: quote.current.totalMinor });
    },
    /** What the user has changed, in words. */
    mine: differences(draftOf(base, timezone), draft, products),
    /** What another user has changed since the form was opened or rebased. */
    theirs,
    /** Whether the order can still be changed. */
    changeable: isChangeable(current),
    /** Moves the user's changes to the current state of the order. */
    rebase: () => restart(rebase(edit, current, timezone)),
    /** Drops the user's changes. */
    discard: () => restart({ base: current, draft: draftOf(current, timezone) }),
    hasFaults: faults.size > 0,
    hasRefusedLines: refusedLines.length > 0,
    lineErrors: new Map([...refusedLines, ...lineErrors(quote.refusal, draft.lines, products), ...faults]),
    invalidDiscount,
  };
}
