import type { Tone } from "@/domain/tone";
import type { Webhook } from "@/domain/webhooks";

export type Health = { tone: Tone; label: string; detail?: string };

/** Returns the current day of a failing webhook, of the days after which it is turned off. */
export const failingDay = ({ failingDays }: Webhook, watchdogDays: number) => Math.min(failingDays + 1, watchdogDays);

/** Returns the health of a webhook from its recent failures, with the days until it is turned off. */
export function healthOf(webhook: Webhook, watchdogDays: number): Health {
  const failures =
    webhook.failureCount === 1 ? "1 failure" : `${webhook.failureCount.toLocaleString()} consecutive failures`;
  if (!webhook.isActive)
    return { tone: "neutral", label: "turned off", detail: webhook.failureCount > 0 ? failures : undefined };
  if (webhook.failureCount > 0) {
    const day = failingDay(webhook, watchdogDays);
    const late = watchdogDays - webhook.failingDays <= 2;
    return {
      tone: late ? "bad" : "warn",
      label: "failing",
      detail: watchdogDays > 0 ? `${failures} · day ${day} of ${watchdogDays} until it is turned off` : failures,
    };
  }
  return webhook.lastDeliveryAt ? { tone: "good", label: "healthy" } : { tone: "neutral", label: "no deliveries yet" };
}
