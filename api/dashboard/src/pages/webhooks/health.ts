import type { Tone } from "@/ui/page";

import type { Webhook } from "./data";

export type Health = { tone: Tone; label: string; detail?: string };

/** What a webhook's last attempts say of its receiver, and how far the watchdog has counted. */
export function healthOf(webhook: Webhook, watchdogDays: number): Health {
  const failures = webhook.failureCount === 1 ? "1 failure" : `${webhook.failureCount.toLocaleString("en")} failures in a row`;
  if (!webhook.isActive) return { tone: "neutral", label: "switched off", detail: webhook.failureCount > 0 ? failures : undefined };
  if (webhook.failureCount > 0) {
    const day = Math.min(webhook.failingDays + 1, watchdogDays); // the one that is on now
    const late = watchdogDays - webhook.failingDays <= 2;
    return { tone: late ? "bad" : "warn", label: "failing", detail: watchdogDays > 0 ? `${failures} · watchdog day ${day} of ${watchdogDays}` : failures };
  }
  return webhook.lastDeliveryAt ? { tone: "good", label: "no failures" } : { tone: "neutral", label: "nothing sent yet" };
}
