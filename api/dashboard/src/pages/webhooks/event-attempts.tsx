import { useQuery } from "@tanstack/react-query";

import { queries } from "@/api/queries";
import { Time } from "@/ui/format";
import { link } from "@/ui/link";
import { Failure } from "@/ui/page";

import { StatusBadge } from "./status";
import { useWebhookSearch } from "./use-webhook-search";

const limit = 100;

/** All attempts to deliver an event to a webhook, newest first. Renders nothing if there is only the shown one. */
export function EventAttempts({ webhookId, eventId, shown }: { webhookId: string; eventId: string; shown: string }) {
  const { show } = useWebhookSearch();
  const attempts = useQuery({
    ...queries.webhooks.attempts(webhookId, { eventId, limit }),
    refetchInterval: 5_000,
  });
  if (attempts.error) return <Failure error={attempts.error} />;
  const rows = attempts.data?.data ?? [];
  if (rows.length < 2) return null;
  return (
    <section className="grid gap-2 border-t pt-4">
      <h3 className="font-semibold">All attempts of this event</h3>
      <ol reversed className="grid gap-1 text-sm">
        {rows.map((attempt) => (
          <li key={attempt.id} className="flex flex-wrap items-center gap-2">
            <span className="w-20 tabular-nums">Attempt {attempt.attemptNumber}</span>
            <StatusBadge status={attempt.status} />
            {attempt.id === shown ? (
              <span className="text-muted-foreground">shown here</span>
            ) : (
              <button type="button" className={link} onClick={() => show({ attempt: attempt.id })}>
                <Time at={attempt.deliveredAt} seconds />
              </button>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
