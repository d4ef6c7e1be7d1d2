import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useState } from "react";

import { api, data } from "@/api/client";
import type { components } from "@/api/schema";
import { useReplay } from "@/pages/webhooks/attempt";
import { type Delivery, useWebhooks, webhooksKey } from "@/pages/webhooks/data";
import { ReplayDialog, Replays } from "@/pages/webhooks/replay";
import { Button } from "@/ui/button";
import { Time } from "@/ui/format";
import { More, useList } from "@/ui/more";
import { Card, Columns, Empty, Failure, Loading, PageHeader, QueryState, Table } from "@/ui/page";

type Group = components["schemas"]["DeadLetters"];

const route = getRouteApi("/inside/dead-letters");

/** What could not be delivered, of all webhooks of the store. */
export function DeadLettersPage() {
  const search = route.useSearch();
  const webhooks = useWebhooks();
  const groups = useQuery({
    queryKey: [...webhooksKey, "dead-letters"],
    queryFn: () => data(api.GET("/dead-letters")),
    refetchInterval: 10_000,
  });
  const [replaying, setReplaying] = useState<{ webhookId?: string; reason?: string } | null>(null);
  const all = webhooks.data?.data ?? [];
  const urlOf = (id: string) => all.find((webhook) => webhook.id === id)?.url ?? id;
  const total = groups.data?.reduce((sum, group) => sum + group.count, 0) ?? 0;
  return (
    <div className="grid gap-5 [&>*]:min-w-0">
      <div className="-mb-5">
        <PageHeader
          title="Dead letters"
          about="Deliveries that have used up their retries, or met a webhook that was switched off. Repair the receiver, then replay them."
          actions={total > 0 && <Button onClick={() => setReplaying({})}>Replay…</Button>}
        />
      </div>
      <Failure error={groups.error ?? webhooks.error} retry={() => void groups.refetch()} />
      {groups.isPending && <Loading />}
      {groups.data && total === 0 && (
        <Empty title="No dead letters">
          <p>Everything has been delivered or is still being tried. A delivery ends up here when its last retry has failed as well, and waits to be replayed.</p>
        </Empty>
      )}
      {groups.data && total > 0 && <Groups groups={groups.data} urlOf={urlOf} total={total} onReplay={setReplaying} />}
      <Replays urlOf={urlOf} />
      {total > 0 && <Letters key={`${search.webhookId} ${search.reason}`} urlOf={urlOf} />}
      {replaying && (
        <ReplayDialog webhooks={all} {...replaying} onClose={() => setReplaying(null)} />
      )}
    </div>
  );
}

type GroupsProps = { groups: Group[]; total: number; urlOf: (id: string) => string; onReplay: (group: { webhookId: string; reason?: string }) => void };

function Groups({ groups, total, urlOf, onReplay }: GroupsProps) {
  const { webhookId, reason } = route.useSearch();
  return (
    <Card title={`${total.toLocaleString("en")} by receiver and reason`}>
      <Table label="Dead letters by receiver and reason">
        <Columns names={["Receiver", "Reason", { right: "Count" }, "Oldest", "Newest", { hidden: "Actions" }]} />
        <tbody>
          {groups.map((group) => {
            const chosen = group.webhookId === webhookId && group.reason === reason;
            const search = { webhookId: group.webhookId, reason: group.reason || undefined };
            return (
              <tr key={`${group.webhookId} ${group.reason}`} className={chosen ? "bg-muted" : undefined}>
                <td className="min-w-48 break-all">
                  <Link to="/webhooks/$id" params={{ id: group.webhookId }} className="text-primary underline-offset-4 hover:underline">
                    {urlOf(group.webhookId)}
                  </Link>
                </td>
                <td className="min-w-40 break-words">{group.reason || "unknown"}</td>
                <td className="text-right tabular-nums">{group.count.toLocaleString("en")}</td>
                <td>
                  <Time at={group.oldestAt} />
                </td>
                <td>
                  <Time at={group.newestAt} />
                </td>
                <td>
                  <span className="flex justify-end gap-2">
                    <Button asChild variant="outline" size="small">
                      <Link
                        to="/dead-letters"
                        search={chosen ? {} : search}
                        resetScroll={false}
                        aria-pressed={chosen}
                        role="button"
                      >
                        {chosen ? "Show all" : "Show"}
                      </Link>
                    </Button>
                    <Button
                      variant="outline"
                      size="small"
                      onClick={() => onReplay(search)}
                      aria-label={`Replay these ${group.count.toLocaleString("en")}: ${group.reason || "unknown"}, ${urlOf(group.webhookId)}`}
                    >
                      Replay these…
                    </Button>
                  </span>
                </td>
              </tr>
            );
          })}
        </tbody>
      </Table>
    </Card>
  );
}

function Letters({ urlOf }: { urlOf: (id: string) => string }) {
  const { webhookId, reason } = route.useSearch();
  const replay = useReplay();
  const letters = useList<Delivery>(
    [...webhooksKey, "dead-letters", webhookId, reason],
    (cursor) => api.GET("/deliveries", { params: { query: { status: "dead_letter", webhookId, reason, cursor, limit: 20 } } }),
    { refetchInterval: 10_000 },
  );
  const title = webhookId ? `${reason ?? "Dead letters"} · ${urlOf(webhookId)}` : "The newest";
  return (
    <Card title={<span className="break-all">{title}</span>}>
      <QueryState of={letters} />
      {letters.data && letters.rows.length === 0 && <Empty title="None are left of this kind" />}
      {letters.rows.length > 0 && (
        <Table label="Dead letters">
          <Columns names={["Ended", "Event", "Receiver and reason", { right: "Attempts" }, { hidden: "Actions" }]} />
          <tbody>
            {letters.rows.map((letter) => (
              <tr key={letter.id}>
                <td>
                  <Time at={letter.endedAt} />
                </td>
                <td>
                  <code className="text-xs">{letter.eventType}</code>
                </td>
                <td className="w-full max-w-56">
                  <span className="block truncate" title={urlOf(letter.webhookId)}>
                    {urlOf(letter.webhookId)}
                  </span>
                  <span className="block truncate text-xs text-muted-foreground" title={letter.reason}>
                    {letter.reason}
                  </span>
                </td>
                <td className="text-right tabular-nums">{letter.attempts}</td>
                <td>
                  <span className="flex justify-end gap-2">
                    <Button asChild variant="ghost" size="small">
                      <Link to="/webhooks/$id" params={{ id: letter.webhookId }} search={{ eventId: letter.eventId }}>
                        Attempts
                      </Link>
                    </Button>
                    <Button
                      variant="outline"
                      size="small"
                      busy={replay.isPending && replay.variables === letter.id}
                      onClick={() => replay.mutate(letter.id)}
                      aria-label={`Replay ${letter.eventType} of ${letter.endedAt}`}
                    >
                      Replay
                    </Button>
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      <More list={letters} />
    </Card>
  );
}
