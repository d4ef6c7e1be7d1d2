import type { AttemptStatus } from "@/domain/webhooks";

/** The labels of the outcomes of an attempt. */
export const attemptStatuses: Record<AttemptStatus, string> = {
  delivered: "Delivered",
  failed: "Failed",
  retrying: "Retrying",
  dead_letter: "Dead letter",
};
