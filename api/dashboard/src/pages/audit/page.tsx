import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useMemo } from "react";

import { api, data } from "@/api/client";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { Select, TextField } from "@/ui/field";
import { Filter } from "@/ui/filter";
import { Time } from "@/ui/format";
import { More, useList } from "@/ui/more";
import { type Tone, Badge, Columns, Empty, PageHeader, QueryState, Table } from "@/ui/page";
import { addDays, startOfDay } from "@/ui/zone";

import type { AuditSearch } from "./search";
import { type Action, type Entry, actions, actorOf, detailsOf } from "./words";

const route = getRouteApi("/inside/audit");

export function AuditPage() {
  const { timezone } = useSession();
  const search: AuditSearch = route.useSearch();
  const navigate = useNavigate();
  const show = (next: AuditSearch) => void navigate({ to: "/audit", search: next, replace: true });
  const filter = (next: AuditSearch) => show({ ...search, ...next });
  const query = useMemo(
    () => ({
      action: search.action,
      actorId: search.actorId,
      target: search.target,
      from: search.from && startOfDay(search.from, timezone),
      to: search.to && startOfDay(addDays(search.to, 1), timezone),
    }),
    [search, timezone],
  );
  const trail = useList<Entry>(["audit", query], (cursor) => api.GET("/audit", { params: { query: { ...query, cursor, limit: 50 } } }));
  const filtered = Object.values(search).some(Boolean);
  return (
    <>
      <PageHeader title="Audit trail" about="Who did what, when and from where. Lines are added by themselves, and nobody can change them." />
      <Filters search={search} onFilter={filter} />
      <QueryState of={trail} />
      {trail.isSuccess && trail.rows.length === 0 && (
        <Empty title={filtered ? "Nothing of that kind was done" : "Nothing was done yet"}>
          {filtered && (
            <Button variant="outline" onClick={() => show({})}>
              Show everything
            </Button>
          )}
        </Empty>
      )}
      {trail.rows.length > 0 && (
        <Table label="Audit trail" className="[&_td]:align-top">
          <Columns names={["When", "Who", "What", "To what", "From"]} />
          <tbody>
            {trail.rows.map((entry) => (
              <Line key={entry.id} entry={entry} onFilter={filter} />
            ))}
          </tbody>
        </Table>
      )}
      <More list={trail} />
    </>
  );
}

function Filters({ search, onFilter }: { search: AuditSearch; onFilter: (next: AuditSearch) => void }) {
  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    onFilter({ target: String(new FormData(event.currentTarget).get("target")).trim() || undefined });
  }
  const backwards = search.from && search.to && search.to < search.from;
  return (
    <div className="mb-4 grid gap-3 sm:grid-cols-2 lg:grid-cols-5">
      <label className="grid gap-1.5 text-sm font-medium">
        What
        <Filter<Action> label="What" all="Everything" value={search.action} options={actions} onChange={(action) => onFilter({ action })} />
      </label>
      <ActorFilter value={search.actorId} onChange={(actorId) => onFilter({ actorId })} />
      <form onSubmit={submit} onBlur={(event) => event.target instanceof HTMLInputElement && event.currentTarget.requestSubmit()}>
        <TextField label="To what" key={search.target} name="target" placeholder="Any id" defaultValue={search.target} spellCheck={false} />
      </form>
      <TextField label="First day" type="date" value={search.from ?? ""} onChange={(event) => onFilter({ from: event.target.value || undefined })} />
      <TextField
        label="Last day"
        type="date"
        value={search.to ?? ""}
        onChange={(event) => onFilter({ to: event.target.value || undefined })}
        error={backwards ? "is before the first day" : undefined}
      />
    </div>
  );
}

/** The users and API keys of the store, whoever has left included as long as one looks at them. */
function ActorFilter({ value, onChange }: { value: string | undefined; onChange: (id: string | undefined) => void }) {
  const users = useQuery({ queryKey: ["users", "names"], queryFn: () => data(api.GET("/users", { params: { query: { limit: 100 } } })) });
  const keys = useQuery({ queryKey: ["api-keys", "names"], queryFn: () => data(api.GET("/api-keys", { params: { query: { limit: 100 } } })) });
  const known = [...(users.data ?? []), ...(keys.data ?? [])].some((one) => one.id === value);
  return (
    <label className="grid gap-1.5 text-sm font-medium">
      Who
      <Select value={value ?? ""} onChange={(event) => onChange(event.target.value || undefined)}>
        <option value="">Everybody</option>
        {value && !known && <option value={value}>{value}</option>}
        <optgroup label="Users">
          {users.data?.map((user) => (
            <option key={user.id} value={user.id}>
              {user.name} ({user.email})
            </option>
          ))}
        </optgroup>
        {keys.data && keys.data.length > 0 && (
          <optgroup label="API keys">
            {keys.data.map((one) => (
              <option key={one.id} value={one.id}>
                {one.name}
              </option>
            ))}
          </optgroup>
        )}
      </Select>
    </label>
  );
}

const tones: Partial<Record<Action, Tone>> = {
  "login.failed": "warn",
  "session.reused": "bad",
  "user.removed": "warn",
  "api_key.revoked": "warn",
  "webhook.deleted": "warn",
  "webhook.deactivated": "warn",
  "website.suspended": "bad",
};

function Line({ entry, onFilter }: { entry: Entry; onFilter: (next: AuditSearch) => void }) {
  const actor = actorOf(entry);
  const details = detailsOf(entry);
  return (
    <tr>
      <td>
        <Time at={entry.at} seconds />
      </td>
      <td className="max-w-60">
        {entry.actor.id ? (
          <button type="button" className="text-left break-words underline-offset-4 hover:underline" title="Show only what they did" onClick={() => onFilter({ actorId: entry.actor.id })}>
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
                <dd className="min-w-0 break-words">{text}</dd>
              </div>
            ))}
          </dl>
        )}
      </td>
      <td>
        {entry.target && (
          <button type="button" className="block max-w-44 truncate underline-offset-4 hover:underline" title={`Show only what was done to ${entry.target}`} onClick={() => onFilter({ target: entry.target })}>
            <code className="text-xs">{entry.target}</code>
          </button>
        )}
      </td>
      <td className="text-xs">
        {entry.address && <span className="block tabular-nums">{entry.address}</span>}
        {entry.requestId && <code className="block max-w-40 truncate text-muted-foreground" title={`Request ${entry.requestId}`}>{entry.requestId}</code>}
      </td>
    </tr>
  );
}
