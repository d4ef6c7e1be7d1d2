import type { Order } from "@/domain/orders";

import { type Move, type Step, type Steps, rebased, withoutLast } from "./step";

/**
 * A status cannot go back, so a step on the board is sent after this many milliseconds, in which it can be undone.
 * Leaving the board or the session sends it immediately.
 */
export const undoTime = 5_000;

/** The effects of a StepQueue. */
type Effects = {
  /** Sends all moves of a step as one change. */
  send: (step: Step) => Promise<Order>;
  onSent: (before: Order, after: Order) => void;
  onFailed: (step: Step, error: unknown) => void;
  /** Called when another user or system has made a step void. current is undefined if the order is no longer open. */
  onVoid: (step: Step, current: Order | undefined) => void;
  /** Called when the first step is waiting. The returned function is called when the last one has ended. */
  hold: () => () => void;
};

/** The steps on the board that the service has not yet confirmed. */
export class StepQueue {
  #steps: Steps = new Map();
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();
  readonly #requests = new Map<string, Promise<void>>();
  readonly #listeners = new Set<() => void>();
  #release: (() => void) | undefined;

  constructor(private readonly effects: Effects) {}

  readonly steps = () => this.#steps;

  readonly subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  #put(id: string, step: Step | null) {
    const next = new Map(this.#steps);
    if (step) next.set(id, step);
    else next.delete(id);
    this.#steps = next;
    if (next.size > 0) this.#release ??= this.effects.hold();
    else {
      this.#release?.();
      this.#release = undefined;
    }
    for (const listener of this.#listeners) listener();
  }

  /** Starts the undo time of a step. */
  #wait(id: string, step: Step) {
    clearTimeout(this.#timers.get(id));
    this.#put(id, { ...step, sendAt: Date.now() + undoTime });
    this.#timers.set(
      id,
      setTimeout(() => void this.send(id).catch(() => {}), undoTime),
    );
  }

  /** Takes a step. A step that follows another one of the same order within the undo time is sent together with it. */
  take(order: Order, move: Move) {
    const before = this.#steps.get(order.id);
    const step = before ?? { order, path: [], sent: 0, takenAt: 0, sendAt: 0 };
    const next = { ...step, path: [...step.path, move], takenAt: Date.now() };
    if (step.sent > 0) this.#put(order.id, next);
    else this.#wait(order.id, next);
  }

  /** Undoes the last step of an order that is not yet on its way, and returns the order's step before it. */
  undo(id: string): Step | undefined {
    const step = this.#steps.get(id);
    if (!step || step.path.length <= step.sent) return undefined;
    const left = withoutLast(step);
    if (left && step.sent > 0) this.#put(id, left);
    else if (left) this.#wait(id, left);
    else this.#drop(id);
    return step;
  }

  #drop(id: string) {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
    this.#put(id, null);
  }

  /** Sends the steps of an order now. Rejects if the service did not accept them. */
  send(id: string): Promise<void> {
    const running = this.#requests.get(id);
    if (running) return running;
    const step = this.#steps.get(id);
    if (!step) return Promise.resolve();
    clearTimeout(this.#timers.get(id));
    const sent = step.path.length;
    this.#put(id, { ...step, sent });
    const request = this.effects.send(step).then(
      (after) => {
        this.#requests.delete(id);
        this.effects.onSent(step.order, after);
        const path = this.#steps.get(id)?.path.slice(sent) ?? []; // taken meanwhile
        if (path.length > 0) this.#wait(id, { ...step, order: after, path, sent: 0, takenAt: Date.now() });
        else this.#drop(id);
      },
      (error: unknown) => {
        this.#requests.delete(id);
        this.#drop(id);
        this.effects.onFailed(step, error);
        throw error;
      },
    );
    this.#requests.set(id, request);
    return request;
  }

  /** Sends all steps now. Rejects if the service did not accept one of them. */
  async sendAll(): Promise<void> {
    const results = await Promise.allSettled([...this.#steps.keys()].map((id) => this.send(id)));
    const failed = results.find((result) => result.status === "rejected");
    if (failed) throw failed.reason;
    if (this.#steps.size > 0) await this.sendAll(); // steps that were taken meanwhile
  }

  /** Compares the waiting steps with the open orders, which others may have changed. */
  compare(open: Order[]) {
    if (this.#steps.size === 0) return;
    const orders = new Map(open.map((order) => [order.id, order]));
    for (const [id, step] of this.#steps) {
      if (step.sent > 0) continue; // the service decides
      const current = orders.get(id);
      const next = rebased(step, current);
      if (next === step) continue;
      if (next) this.#put(id, next);
      else {
        this.#drop(id);
        this.effects.onVoid(step, current);
      }
    }
  }
}
