import type { Tone } from "@/ui/page";

import type { Webhook } from "./data";

export type Health = { tone: Tone; label: string; detail?: string };

/** Returns the health of a webhook from its recent failures, with the watchdog's progress. */
export function healthOf(webhook: Webhook, watchdogDays: number): Health {
  const failures =
    webhook.failureCount === 1 ? "1 failure" : `${webhook.failureCount.toLocaleString()} consecutive failures`;
  if (!webhook.isActive)
    return { tone: "neutral", label: "turned off", detail: webhook.failureCount > 0 ? failures : undefined };
  if (webhook.failureCount > 0) {
    const day = Math.min(webhook.failingDays + 1, watchdogDays); // the current day
    const late = watchdogDays - webhook.failingDays <= 2;
    return {
      tone: late ? "bad" : "warn",
      label: "failing",
      detail: watchdogDays > 0 ? `${failures} · watchdog day ${day} of ${watchdogDays}` : failures,
    };
  }
  return webhook.lastDeliveryAt ? { tone: "good", label: "healthy" } : { tone: "neutral", label: "no deliveries yet" };
}
