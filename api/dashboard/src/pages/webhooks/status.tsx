import type { Tone } from "@/domain/tone";
import type { AttemptStatus, Delivery } from "@/domain/webhooks";
import { Badge } from "@/ui/page";

import type { Health } from "./health";

const statusStyles: Record<AttemptStatus | Delivery["status"], [Tone, string]> = {
  delivered: ["good", "delivered"],
  failed: ["bad", "failed"],
  retrying: ["warn", "retrying"],
  dead_letter: ["bad", "dead letter"],
  queued: ["neutral", "queued"],
  pending: ["accent", "pending"],
  cancelled: ["neutral", "cancelled"],
};

/** The status of an attempt or a delivery. */
export const StatusBadge = ({ status }: { status: keyof typeof statusStyles }) => (
  <Badge tone={statusStyles[status][0]} className="whitespace-nowrap">
    {statusStyles[status][1]}
  </Badge>
);

export const HealthBadge = ({ health }: { health: Health }) => (
  <span className="grid justify-items-start gap-0.5">
    <Badge tone={health.tone} className="whitespace-nowrap">
      {health.label}
    </Badge>
    {health.detail && <span className="text-xs font-normal text-muted-foreground">{health.detail}</span>}
  </span>
);
