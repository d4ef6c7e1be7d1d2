import { getRouteApi, useNavigate } from "@tanstack/react-router";

import { queries } from "@/api/queries";
import { TextField } from "@/ui/field";
import { useList } from "@/ui/list";
import { PageHeader } from "@/ui/page";

import { Filters } from "./filters";
import { useAuditQuery } from "./query";
import type { AuditSearch } from "./search";
import { Trail } from "./trail";

const route = getRouteApi("/inside/platform/audit");

/** The audit trail of the platform. */
export function PlatformAuditPage() {
  const search: AuditSearch = route.useSearch();
  const navigate = useNavigate();
  const show = (next: AuditSearch) => void navigate({ to: "/platform/audit", search: next, replace: true });
  const filter = (next: AuditSearch) => show({ ...search, ...next });
  const query = useAuditQuery(search);
  const trail = useList(queries.platformAudit(query));
  return (
    <>
      <PageHeader
        title="Audit trail"
        about="Logins of platform administrators and changes to websites. Entries cannot be changed."
      />
      <Filters search={search} onFilter={filter} allRealms="All" realmOptions={["platform-admin", "tenant"]}>
        <TextField
          label="User"
          key={search.actorId}
          placeholder="Any user id"
          defaultValue={search.actorId}
          spellCheck={false}
          onBlur={(event) => filter({ actorId: event.target.value.trim() || undefined })}
          onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
        />
      </Filters>
      <Trail list={trail} search={search} onFilter={filter} onClear={() => show({})}>
        Logins of platform administrators and changes to websites appear here.
      </Trail>
    </>
  );
}
