import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { Order, Status } from "@/domain/orders";

import { lastTaken, targetOf } from "./step";
import { StepQueue, undoTime } from "./step-queue";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const all: Status[] = ["RECEIVED", "CONFIRMED", "PREPARING", "READY", "COMPLETED", "CANCELLED"];

const order = (id: string, status: Status = "RECEIVED") =>
  ({ id, orderId: id, status, version: 1, allowedTransitions: all.slice(all.indexOf(status) + 1) }) as Order;

/** Returns a queue, the changes that it sent, and functions that respond to the oldest change. */
function queueWithLog() {
  const log: string[] = [];
  const open: { accept: () => void; refuse: () => void }[] = [];
  let held = 0;
  const queue = new StepQueue({
    send: (step) => {
      log.push(`${step.order.id} ${targetOf(step)}`);
      return new Promise<Order>((resolve, reject) =>
        open.push({
          accept: () => resolve(order(step.order.id, targetOf(step))),
          refuse: () => reject(new Error("refused")),
        }),
      );
    },
    onSent: (before, after) => log.push(`${after.id} sent from ${before.status}`),
    onFailed: (step) => log.push(`${step.order.id} failed`),
    onVoid: (step, current) => log.push(`${step.order.id} void: ${current?.status}`),
    hold: () => {
      held++;
      return () => held--;
    },
  });
  const respond = async (how: "accept" | "refuse") => {
    open.shift()![how]();
    await vi.advanceTimersByTimeAsync(0);
  };
  return { queue, log, respond, held: () => held };
}

test("a step is sent after the undo time, unless it is undone", async () => {
  const { queue, log, held } = queueWithLog();
  queue.take(order("1"), { to: "CONFIRMED" });
  queue.take(order("2"), { to: "CONFIRMED" });
  expect(held()).toBe(1);
  await vi.advanceTimersByTimeAsync(undoTime - 1);
  expect(queue.undo("1")?.order.id).toBe("1");
  expect(log).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(log).toEqual(["2 CONFIRMED"]);
  expect(queue.undo("2")).toBeUndefined(); // on its way
});

test("two steps in a row are undone one by one, and sent as one change", async () => {
  const { queue, log, respond, held } = queueWithLog();
  queue.take(order("1"), { to: "CONFIRMED" });
  queue.take(order("1", "CONFIRMED"), { to: "PREPARING" });
  queue.take(order("1", "PREPARING"), { to: "READY" });
  expect(targetOf(queue.undo("1")!)).toBe("READY");
  expect(targetOf(queue.steps().get("1")!)).toBe("PREPARING");
  await vi.advanceTimersByTimeAsync(undoTime);
  await respond("accept");
  expect(log).toEqual(["1 PREPARING", "1 sent from RECEIVED"]);
  expect([queue.steps().size, held()]).toEqual([0, 0]);
});

test("a step that is taken while another one is on its way follows it", async () => {
  const { queue, log, respond } = queueWithLog();
  queue.take(order("1"), { to: "CONFIRMED" });
  void queue.send("1");
  queue.take(order("1", "CONFIRMED"), { to: "PREPARING" });
  await respond("accept");
  await vi.advanceTimersByTimeAsync(undoTime);
  expect(log).toEqual(["1 CONFIRMED", "1 sent from RECEIVED", "1 PREPARING"]);
});

test("sendAll waits for all steps, and fails with one of them", async () => {
  const { queue, log, respond } = queueWithLog();
  queue.take(order("1"), { to: "CONFIRMED" });
  queue.take(order("2"), { to: "CONFIRMED" });
  const done = vi.fn();
  const failed = vi.fn();
  void queue.sendAll().then(done, failed);
  expect(log).toEqual(["1 CONFIRMED", "2 CONFIRMED"]);
  await respond("refuse");
  expect(failed).not.toHaveBeenCalled();
  await respond("accept");
  expect(failed).toHaveBeenCalled();
  expect(done).not.toHaveBeenCalled();
  expect(log.slice(2)).toEqual(["1 failed", "2 sent from RECEIVED"]);
  await queue.sendAll(); // nothing is left
});

test("the step of another user replaces or continues one's own", () => {
  const { queue, log } = queueWithLog();
  for (const id of ["1", "2", "3", "4"]) queue.take(order(id), { to: "CONFIRMED" });
  queue.take(order("4", "CONFIRMED"), { to: "PREPARING" });
  queue.compare([order("1"), order("2", "PREPARING"), order("4", "CONFIRMED")]);
  expect(log).toEqual(["2 void: PREPARING", "3 void: undefined"]);
  expect([...queue.steps().keys()]).toEqual(["1", "4"]);
  expect(queue.steps().get("4")).toMatchObject({ order: { status: "CONFIRMED" }, path: [{ to: "PREPARING" }] });
});

test("the step that was taken last is that of the last click", async () => {
  const { queue } = queueWithLog();
  queue.take(order("1"), { to: "CONFIRMED" });
  await vi.advanceTimersByTimeAsync(10);
  queue.take(order("2"), { to: "CONFIRMED" });
  await vi.advanceTimersByTimeAsync(10);
  queue.take(order("1", "CONFIRMED"), { to: "PREPARING" });
  expect(lastTaken(queue.steps())?.order.id).toBe("1");
  void queue.send("1");
  expect(lastTaken(queue.steps())?.order.id).toBe("2");
});
