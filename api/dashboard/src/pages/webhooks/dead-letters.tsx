import type { components } from "@comanda/client";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useQuery } from "@tanstack/react-query";

import { queries } from "@/api/queries";
import { Button } from "@/ui/button";
import { Time } from "@/ui/format";
import { link } from "@/ui/link";
import { ShowMore, useList } from "@/ui/list";
import { Card, Columns, Empty, Failure, Loading, PageHeader, QueryState, Table } from "@/ui/page";

import { ReplayDialog, Replays } from "./replay";
import { ReplayButton } from "./replay-button";

type Group = components["schemas"]["DeadLetters"];

const route = getRouteApi("/inside/dead-letters");

/** The dead letters of all webhooks of the store. */
export function DeadLettersPage() {
  const search = route.useSearch();
  const webhooks = useQuery(queries.webhooks.all);
  const groups = useQuery({ ...queries.webhooks.deadLetters, refetchInterval: 10_000 });
  const [replaying, setReplaying] = useState<{ webhookId?: string; reason?: string } | null>(null);
  const all = webhooks.data?.data ?? [];
  const urlOf = (id: string) => all.find((webhook) => webhook.id === id)?.url ?? id;
  const total = groups.data?.reduce((sum, group) => sum + group.count, 0) ?? 0;
  return (
    <div className="grid gap-5 [&>*]:min-w-0">
      <div className="-mb-5">
        <PageHeader
          title="Dead letters"
          about="Deliveries that failed their last retry. Fix the receiver, then replay them."
          actions={total > 0 && <Button onClick={() => setReplaying({})}>Replay…</Button>}
        />
      </div>
      <Failure error={groups.error ?? webhooks.error} retry={() => void groups.refetch()} />
      {groups.isPending && <Loading />}
      {groups.data && total === 0 && (
        <Empty title="No dead letters">
          <p>
            A delivery appears here when its last retry fails, or when its webhook is turned off. You can then replay
            it.
          </p>
        </Empty>
      )}
      {groups.data && total > 0 && <Groups groups={groups.data} urlOf={urlOf} total={total} onReplay={setReplaying} />}
      <Replays urlOf={urlOf} />
      {total > 0 && (
        <DeadLetterList
          key={`${search.webhookId} ${search.reason}`}
          urlOf={urlOf}
          isOff={(id) => all.some((webhook) => webhook.id === id && !webhook.isActive)}
        />
      )}
      {replaying && <ReplayDialog webhooks={all} {...replaying} onClose={() => setReplaying(null)} />}
    </div>
  );
}

type GroupsProps = {
  groups: Group[];
  total: number;
  urlOf: (id: string) => string;
  onReplay: (group: { webhookId: string; reason?: string }) => void;
};

function Groups({ groups, total, urlOf, onReplay }: GroupsProps) {
  const { webhookId, reason } = route.useSearch();
  return (
    <Card title={`${total.toLocaleString()} by webhook and reason`}>
      <Table label="Dead letters by webhook and reason" stacked>
        <Columns names={["Webhook", "Reason", { right: "Count" }, "Oldest and newest", { hidden: "Actions" }]} />
        <tbody>
          {groups.map((group) => {
            const chosen = group.webhookId === webhookId && group.reason === reason;
            const search = { webhookId: group.webhookId, reason: group.reason || undefined };
            return (
              <tr key={`${group.webhookId} ${group.reason}`} className={chosen ? "bg-muted" : undefined}>
                <td className="min-w-40 break-all">
                  <Link to="/webhooks/$id" params={{ id: group.webhookId }} className={link}>
                    {urlOf(group.webhookId)}
                  </Link>
                </td>
                <td className="min-w-32 break-words">{group.reason || "unknown"}</td>
                <td className="text-right tabular-nums">
                  <span className="text-muted-foreground sm:hidden">Count </span>
                  {group.count.toLocaleString()}
                </td>
                <td>
                  <span className="block">
                    <span className="text-muted-foreground sm:hidden">Oldest </span>
                    <Time at={group.oldestAt} />
                  </span>
                  <span className="block">
                    <span className="text-muted-foreground sm:hidden">Newest </span>
                    <Time at={group.newestAt} />
                  </span>
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
                      aria-label={`Replay all ${group.count}: ${group.reason || "unknown"}, ${urlOf(group.webhookId)}`}
                    >
                      Replay all…
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

function DeadLetterList({ urlOf, isOff }: { urlOf: (id: string) => string; isOff: (id: string) => boolean }) {
  const { webhookId, reason } = route.useSearch();
  const letters = useList(queries.webhooks.deadLetterList({ webhookId, reason }), { refetchInterval: 10_000 });
  const title = webhookId ? `${reason ?? "Dead letters"} · ${urlOf(webhookId)}` : "Newest";
  return (
    <Card title={<span className="break-all">{title}</span>}>
      <QueryState query={letters} />
      {letters.data && letters.rows.length === 0 && <Empty title="No dead letters match these filters" />}
      {letters.rows.length > 0 && (
        <Table label="Dead letters" stacked>
          <Columns names={["Ended", "Event", "Webhook and reason", { right: "Attempts" }, { hidden: "Actions" }]} />
          <tbody>
            {letters.rows.map((letter) => (
              <tr key={letter.id}>
                <td>
                  <Time at={letter.endedAt} />
                </td>
                <td>
                  <code className="text-xs">{letter.eventType}</code>
                </td>
                <td className="w-full sm:max-w-36">
                  <span className="block wrap-anywhere sm:truncate" title={urlOf(letter.webhookId)}>
                    {urlOf(letter.webhookId)}
                  </span>
                  <span className="block truncate text-xs text-muted-foreground" title={letter.reason}>
                    {letter.reason}
                  </span>
                </td>
                <td className="text-right tabular-nums">
                  <span className="text-muted-foreground sm:hidden">Attempts </span>
                  {letter.attempts}
                </td>
                <td>
                  <span className="flex justify-end gap-2">
                    <Button asChild variant="ghost" size="small">
                      <Link to="/webhooks/$id" params={{ id: letter.webhookId }} search={{ eventId: letter.eventId }}>
                        Attempts
                      </Link>
                    </Button>
                    <ReplayButton
                      variant="outline"
                      deliveryId={letter.id}
                      off={isOff(letter.webhookId)}
                      aria-label={`Replay ${letter.eventType} of ${letter.endedAt}`}
                    />
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      <ShowMore list={letters} />
    </Card>
  );
}
