import type { FormEvent, ReactNode } from "react";

import { TextField } from "@/ui/field";
import { Filter } from "@/ui/filter";

import { type Action, type Realm, actions, realms } from "./labels";
import type { AuditSearch } from "./search";

type Props = {
  search: AuditSearch;
  onFilter: (next: AuditSearch) => void;
  /** The realms of the trail, and the label of the option without a filter. */
  allRealms: string;
  realmOptions: readonly Realm[];
  /** The filter by actor. */
  children: ReactNode;
};

/** The filters of an audit trail. */
export function Filters({ search, onFilter, allRealms, realmOptions, children }: Props) {
  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    onFilter({ target: String(new FormData(event.currentTarget).get("target")).trim() || undefined });
  }
  const backwards = search.from && search.to && search.to < search.from;
  return (
    <div className="mb-4 grid gap-3 sm:grid-cols-2 lg:grid-cols-3">
      <label className="grid gap-1.5 text-sm font-medium">
        Action
        <Filter<Action>
          label="Action"
          all="All actions"
          value={search.action}
          options={actions}
          onChange={(action) => onFilter({ action })}
        />
      </label>
      <label className="grid gap-1.5 text-sm font-medium">
        Kind of user
        <Filter<Realm>
          label="Kind of user"
          all={allRealms}
          value={search.realm}
          options={Object.fromEntries(realmOptions.map((realm) => [realm, realms[realm]])) as Record<Realm, string>}
          onChange={(realm) => onFilter({ realm, actorId: undefined })}
        />
      </label>
      {children}
      <form
        onSubmit={submit}
        onBlur={(event) => event.target instanceof HTMLInputElement && event.currentTarget.requestSubmit()}
      >
        <TextField
          label="Target"
          key={search.target}
          name="target"
          placeholder="Any id"
          defaultValue={search.target}
          spellCheck={false}
        />
      </form>
      <TextField
        label="First day"
        type="date"
        value={search.from ?? ""}
        onChange={(event) => onFilter({ from: event.target.value || undefined })}
      />
      <TextField
        label="Last day"
        type="date"
        value={search.to ?? ""}
        onChange={(event) => onFilter({ to: event.target.value || undefined })}
        error={backwards ? "must not be before the first day" : undefined}
      />
    </div>
  );
}
