import { Plus } from "lucide-react";
import { useState } from "react";

import { queries } from "@/api/queries";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { Time } from "@/ui/format";
import { ShowMore, useList } from "@/ui/list";
import { Badge, Columns, Empty, PageHeader, QueryState, Table } from "@/ui/page";

import { CreateDialog } from "./create";
import type { APIKey } from "./types";
import { RevokeDialog } from "./revoke";

export function APIKeysPage() {
  const keys = useList(queries.apiKeys.list);
  const [creating, setCreating] = useState(false);
  const [revoking, setRevoking] = useState<APIKey | null>(null);
  const create = (
    <Button onClick={() => setCreating(true)}>
      <Plus aria-hidden /> Create API key
    </Button>
  );
  return (
    <>
      <PageHeader
        title="API keys"
        about="An API key lets your server access this store within the key's scopes. Keys do not expire."
        actions={create}
      />
      <QueryState query={keys} />
      {keys.data && keys.rows.length === 0 && (
        <Empty title="No API keys yet">
          <p>
            Your API keys appear here. To try out the API, create a key in test mode: it accesses a sandbox instead of
            live data.
          </p>
          {create}
        </Empty>
      )}
      {keys.rows.length > 0 && (
        <Table label="API keys" stacked>
          <Columns names={["Name", "Key", "Scopes", "Created", "Last used", { hidden: "Actions" }]} />
          <tbody>
            {keys.rows.map((key) => (
              <tr key={key.id} className={cn(key.revokedAt && "text-muted-foreground")}>
                <td className="min-w-32 font-medium break-words">{key.name}</td>
                <td>
                  <code className={cn("text-xs whitespace-nowrap", key.revokedAt && "line-through")}>
                    {key.prefix}…{key.lastFour}
                  </code>{" "}
                  <Badge tone={key.mode === "test" ? "accent" : "neutral"}>{key.mode}</Badge>
                </td>
                <td className="max-w-72 text-xs">{key.scopes.join(", ")}</td>
                <td>
                  <span className="text-muted-foreground sm:hidden">Created </span>
                  <Time at={key.createdAt} />
                </td>
                <td>
                  <span className="text-muted-foreground sm:hidden">Last used </span>
                  <Time at={key.lastUsedAt} />
                </td>
                <td className="text-right">
                  {key.revokedAt ? (
                    <>
                      <Badge>revoked</Badge>
                      <span className="block pt-0.5 text-xs">
                        <Time at={key.revokedAt} />
                      </span>
                    </>
                  ) : (
                    <Button variant="danger" size="small" onClick={() => setRevoking(key)}>
                      Revoke<span className="sr-only"> {key.name}</span>
                    </Button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      <ShowMore list={keys} />
      {creating && <CreateDialog onClose={() => setCreating(false)} />}
      {revoking && <RevokeDialog apiKey={revoking} onClose={() => setRevoking(null)} />}
    </>
  );
}
