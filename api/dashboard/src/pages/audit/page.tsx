import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";

import { queries } from "@/api/queries";
import { Select } from "@/ui/field";
import { useList } from "@/ui/list";
import { PageHeader } from "@/ui/page";

import { Filters } from "./filters";
import { useAuditQuery } from "./query";
import type { AuditSearch } from "./search";
import { Trail } from "./trail";

const route = getRouteApi("/inside/audit");

export function AuditPage() {
  const search: AuditSearch = route.useSearch();
  const navigate = useNavigate();
  const show = (next: AuditSearch) => void navigate({ to: "/audit", search: next, replace: true });
  const filter = (next: AuditSearch) => show({ ...search, ...next });
  const query = useAuditQuery(search);
  const trail = useList(queries.audit(query));
  return (
    <>
      <PageHeader
        title="Audit trail"
        about="Logins and changes in this store. Entries are recorded automatically and cannot be changed."
      />
      <Filters
        search={search}
        onFilter={filter}
        allRealms="All except customers"
        realmOptions={["tenant", "api-key", "platform-admin", "customer"]}
      >
        <ActorFilter value={search.actorId} onChange={(actorId) => filter({ actorId, realm: undefined })} />
      </Filters>
      <Trail list={trail} search={search} onFilter={filter} onClear={() => show({})}>
        Logins and changes of users, keys, webhooks, settings and the plan appear here.
      </Trail>
    </>
  );
}

/** Filters by a user or API key of the store. A selected user stays listed after leaving the store. */
function ActorFilter({ value, onChange }: { value: string | undefined; onChange: (id: string | undefined) => void }) {
  const users = useQuery(queries.users.names);
  const keys = useQuery(queries.apiKeys.names);
  const known = [...(users.data ?? []), ...(keys.data ?? [])].some((one) => one.id === value);
  return (
    <label className="grid gap-1.5 text-sm font-medium">
      User
      <Select value={value ?? ""} onChange={(event) => onChange(event.target.value || undefined)}>
        <option value="">All users</option>
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
