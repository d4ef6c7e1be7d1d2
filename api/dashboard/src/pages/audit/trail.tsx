import type { ReactNode } from "react";

import { formatMoney } from "@/domain/money";
import { dayName } from "@/domain/opening-hours";
import { formatRate } from "@/domain/percent";
import type { Tone } from "@/domain/tone";
import { useAccount } from "@/session/account";
import { Button } from "@/ui/button";
import { Time, useClockTime } from "@/ui/format";
import { type useList, ShowMore } from "@/ui/list";
import { Badge, Columns, Empty, QueryState, Table } from "@/ui/page";

import { type Action, type Entry, actions, actorOf, detailsOf } from "./labels";
import type { AuditSearch } from "./search";

type Props = {
  list: ReturnType<typeof useList<Entry>>;
  search: AuditSearch;
  onFilter: (next: AuditSearch) => void;
  onClear: () => void;
  /** The text of an empty trail. */
  children: ReactNode;
};

/** A list of audit entries. A click on an actor or a target filters the list. */
export function Trail({ list, search, onFilter, onClear, children }: Props) {
  const filtered = Object.values(search).some(Boolean);
  return (
    <>
      <QueryState query={list} />
      {list.isSuccess && list.rows.length === 0 && (
        <Empty title={filtered ? "No entries match these filters" : "No entries yet"}>
          {filtered ? (
            <Button variant="outline" onClick={onClear}>
              Clear filters
            </Button>
          ) : (
            <p>{children}</p>
          )}
        </Empty>
      )}
      {list.rows.length > 0 && (
        <Table label="Audit trail" stacked className="[&_td]:align-top">
          <Columns names={["Time", "User", "Action", "Target", "Origin"]} />
          <tbody>
            {list.rows.map((entry) => (
              <Line key={entry.id} entry={entry} onFilter={onFilter} />
            ))}
          </tbody>
        </Table>
      )}
      <ShowMore list={list} />
    </>
  );
}

const tones: Partial<Record<Action, Tone>> = {
  "login.failed": "warn",
  "session.reused": "bad",
  "user.removed": "warn",
  "api_key.revoked": "warn",
  "webhook.deleted": "warn",
  "webhook.deactivated": "warn",
  "invitation.withdrawn": "warn",
  "website.suspended": "bad",
  "website.client_ids_refused": "bad",
};

function Line({ entry, onFilter }: { entry: Entry; onFilter: (next: AuditSearch) => void }) {
  const actor = actorOf(entry);
  const { locale } = useAccount();
  const clock = useClockTime();
  const details = detailsOf(entry, {
    money: (minor, currency) => formatMoney(minor, currency, locale),
    time: clock,
    rate: (ppm) => formatRate(ppm, locale),
    weekday: (day) => dayName(day, locale, "short"),
  });
  return (
    <tr>
      <td>
        <Time at={entry.at} seconds />
      </td>
      <td className="max-w-60 xl:min-w-60">
        {entry.actor.id ? (
          <button
            type="button"
            className="text-left wrap-anywhere underline-offset-4 hover:underline"
            title="Show only actions of this user"
            onClick={() => onFilter({ actorId: entry.actor.id })}
          >
            {actor.name}
          </button>
        ) : (
          actor.name
        )}
        {actor.kind && <span className="block text-xs text-muted-foreground">{actor.kind}</span>}
      </td>
      <td className="min-w-52">
        <Badge tone={tones[entry.action]}>{actions[entry.action] ?? entry.action}</Badge>
        {details.length > 0 && (
          <dl className="mt-1.5 grid gap-0.5 text-xs">
            {details.map(({ label, text }) => (
              <div key={label} className="flex flex-wrap gap-x-1.5">
                <dt className="text-muted-foreground">{label}:</dt>
                <dd className="min-w-0 wrap-anywhere">{text}</dd>
              </div>
            ))}
          </dl>
        )}
      </td>
      <td>
        {entry.target && (
          <button
            type="button"
            className="block max-w-36 truncate underline-offset-4 hover:underline"
            title={`Show only actions on ${entry.target}`}
            onClick={() => onFilter({ target: entry.target })}
          >
            <code className="text-xs">{entry.target}</code>
          </button>
        )}
      </td>
      <td className="text-xs">
        {entry.address && <span className="block tabular-nums">{entry.address}</span>}
        {entry.requestId && (
          <code className="block max-w-36 truncate text-muted-foreground" title={`Request ${entry.requestId}`}>
            {entry.requestId}
          </code>
        )}
      </td>
    </tr>
  );
}
