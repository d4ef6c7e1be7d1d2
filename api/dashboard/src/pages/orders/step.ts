import type { Order, Status } from "@/domain/orders";

/** One click on the board: the next status and, if the user has chosen another one, the promised time. */
export type Move = { to: Status; promisedAt?: string };

/**
 * The steps of an order that the user has taken and the service has not yet confirmed. `path` is never empty. Its
 * first `sent` moves are on their way and cannot be undone.
 */
export type Step = { order: Order; path: Move[]; sent: number; takenAt: number; sendAt: number };

export type Steps = ReadonlyMap<string, Step>;

/** Returns the status after all steps. */
export const targetOf = ({ path }: Step): Status => path.at(-1)!.to;

/** Returns the promised time that the moves set, if they set one. */
export const promiseOf = (path: Move[]) => path.findLast(({ promisedAt }) => promisedAt)?.promisedAt;

/** Returns the order as it will be after the steps. */
export function afterSteps(step: Step): Order {
  const { order, path } = step;
  const status = targetOf(step);
  return {
    ...order,
    status,
    promisedAt: promiseOf(path) ?? order.promisedAt,
    allowedTransitions: order.allowedTransitions.slice(order.allowedTransitions.indexOf(status) + 1),
  };
}

/** Returns the steps without the last one, or null if none is left. */
export const withoutLast = (step: Step): Step | null =>
  step.path.length > 1 ? { ...step, path: step.path.slice(0, -1) } : null;

/**
 * Returns the steps that remain after another user or system has changed the order, or null if none does. A status
 * never goes back, so a step to a status that the order has passed is void.
 */
export function rebased(step: Step, current: Order | undefined): Step | null {
  if (!current) return null; // completed or cancelled
  if (current.status === step.order.status) return step;
  const path = step.path.filter(({ to }) => current.allowedTransitions.includes(to));
  return path.length > 0 ? { ...step, order: current, path } : null;
}

/** Returns the step that was taken last, among those that can be undone. */
export function lastTaken(steps: Steps): Step | undefined {
  const undoable = [...steps.values()].filter(({ path, sent }) => path.length > sent);
  return undoable.toSorted((a, b) => a.takenAt - b.takenAt).at(-1);
}
