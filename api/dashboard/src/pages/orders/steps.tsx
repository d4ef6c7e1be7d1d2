import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, createContext, use, useEffect, useMemo, useState, useSyncExternalStore } from "react";

import { api, data, ifMatch } from "@/api/client";
import { isConnected } from "@/api/connection";
import { errorMessage } from "@/api/error-message";
import { queries } from "@/api/queries";
import { type Order, actionLabels, statuses } from "@/domain/orders";
import { holdUnsent, registerSender } from "@/session/unsent";
import { Button } from "@/ui/button";
import { useNow } from "@/ui/now";
import { useToast } from "@/ui/toast";

import { applyChanges, readChanged } from "./order-changes";
import { usePrintAccepted } from "./print";
import { type Move, type Step, type Steps, lastTaken, promiseOf, targetOf } from "./step";
import { StepQueue } from "./step-queue";

type Board = {
  /** The steps that the service has not yet confirmed, by order. */
  steps: Steps;
  take: (order: Order, move: Move) => void;
  undo: (id: string) => void;
  undoLast: () => void;
  send: (id: string) => void;
  sendAll: () => void;
};

const nothing = () => {};

const Context = createContext<Board>({
  steps: new Map(),
  take: nothing,
  undo: nothing,
  undoLast: nothing,
  send: nothing,
  sendAll: nothing,
});

/** Returns the steps on the board that are not yet confirmed, and the functions that take, undo and send them. */
export const useSteps = () => use(Context);

/** Keeps the steps of the board. It outlives the board, so that a log-out waits for a step that is on its way. */
export function StepsProvider({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const printAccepted = usePrintAccepted();
  const toast = useToast();
  const [queue] = useState(
    () =>
      new StepQueue({
        hold: holdUnsent,
        send: ({ order, path }) => {
          // A payment may have changed the version. Another status is a conflict, which the service reports.
          const current = client.getQueryData(queries.openOrders.queryKey)?.find(({ id }) => id === order.id);
          const { version } = current?.status === order.status ? current : order;
          const status = path.at(-1)!.to;
          return data(
            api.PATCH("/orders/{id}/status", {
              params: { path: { id: order.id }, header: ifMatch({ version }) },
              body: { status, promisedAt: status === "COMPLETED" ? undefined : promiseOf(path) },
              keepalive: true, // survives the end of the page
            }),
          );
        },
        onSent: (before, after) => {
          applyChanges(client, [after]);
          if (before.status === "RECEIVED") printAccepted(after);
        },
        onFailed: ({ order }, error) => {
          toast(`Order ${order.orderId} was not changed. ${errorMessage(error)}`, { error: true });
          void readChanged(client, [{ id: order.id, version: Infinity }]);
        },
        onVoid: (step, current) => {
          if (current?.status === targetOf(step)) return; // as the user wanted it
          const status = current ? `set to “${statuses[current.status]}”` : "completed or cancelled";
          toast(`Order ${step.order.orderId} was ${status} by someone else. Your step was not sent.`, { error: true });
        },
      }),
  );
  const steps = useSyncExternalStore(queue.subscribe, queue.steps);

  const { data: open } = useQuery({ ...queries.openOrders, enabled: false });
  useEffect(() => {
    if (open) queue.compare(open);
  }, [open, queue]);

  useEffect(() => {
    const sendAll = () => void queue.sendAll().catch(nothing);
    const hidden = () => document.hidden && sendAll();
    const unregister = registerSender(() => queue.sendAll());
    addEventListener("pagehide", sendAll);
    document.addEventListener("visibilitychange", hidden);
    return () => {
      unregister();
      removeEventListener("pagehide", sendAll);
      document.removeEventListener("visibilitychange", hidden);
    };
  }, [queue]);

  const actions = useMemo(() => {
    const undo = (id: string) => {
      const step = queue.undo(id);
      if (!step) return;
      const { status } = queue.steps().has(id) ? { status: targetOf(queue.steps().get(id)!) } : step.order;
      toast(`“${actionLabels[targetOf(step)]}” undone: order ${step.order.orderId} is ${statuses[status]} again`);
      focusCard(id);
    };
    return {
      take: (order: Order, move: Move) => {
        if (isConnected()) queue.take(order, move);
        else toast(`No connection. Order ${order.orderId} was not changed.`, { error: true });
      },
      undo,
      undoLast: () => {
        const last = lastTaken(queue.steps());
        if (last) undo(last.order.id);
      },
      send: (id: string) => {
        void queue.send(id).catch(nothing);
        focusCard(id);
      },
      sendAll: () => void queue.sendAll().catch(nothing),
    };
  }, [queue, toast]);

  const board = useMemo(() => ({ steps, ...actions }), [steps, actions]);
  return <Context value={board}>{children}</Context>;
}

/** Moves the focus to the card of an order. The button that had the focus disappears. */
const focusCard = (id: string) =>
  requestAnimationFrame(() => {
    const card = document.querySelector(`[data-order="${CSS.escape(id)}"]`);
    (card?.querySelector<HTMLElement>("[data-step]") ?? card?.querySelector("a"))?.focus();
  });

/** Shows the steps that are not yet confirmed, each with a button that undoes it. */
export function UndoBar() {
  const { steps } = useSteps();
  return (
    <div
      role="region"
      aria-label="Changes that can be undone"
      className="sticky bottom-0 z-30 grid max-h-40 gap-1 overflow-y-auto"
      hidden={steps.size === 0}
    >
      {[...steps.values()].map((step) => (
        <UndoRow key={step.order.id} step={step} />
      ))}
    </div>
  );
}

function UndoRow({ step }: { step: Step }) {
  const { undo, send } = useSteps();
  const now = useNow(500);
  const { order, path, sent, sendAt } = step;
  const sending = sent > 0;
  const name = actionLabels[targetOf(step)].toLowerCase();
  return (
    <p className="flex flex-wrap items-center gap-2 rounded-md border bg-surface px-3 py-1 text-sm shadow-md">
      <span className="min-w-0 flex-1">
        Order {order.orderId}:{" "}
        {[order.status, ...path.map(({ to }) => to)].map((status) => statuses[status]).join(" → ")}.{" "}
        <span className="text-muted-foreground">
          {sending ? "Sending…" : `Sent in ${Math.max(1, Math.ceil((sendAt - now) / 1000))} s.`}
        </span>
      </span>
      <Button variant="ghost" className="h-11" busy={sending} onClick={() => send(order.id)}>
        Send now
      </Button>
      <Button
        variant="outline"
        className="h-11"
        busy={path.length <= sent}
        onClick={() => undo(order.id)}
        aria-label={`Undo: ${name} order ${order.orderId}`}
      >
        Undo: {name}
      </Button>
    </p>
  );
}
