import type { AttemptStatus } from "./data";

/** The outcomes of an attempt, by name. */
export const attemptStatuses: Record<AttemptStatus, string> = { delivered: "Delivered", failed: "Failed", retrying: "Retrying", dead_letter: "Dead letter" };
