import { Plus } from "lucide-react";
import { useState } from "react";

import { api } from "@/api/client";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { Time } from "@/ui/format";
import { More, useList } from "@/ui/more";
import { Badge, Columns, Empty, PageHeader, QueryState, Table } from "@/ui/page";

import { CreateDialog } from "./create";
import { RevokeDialog } from "./revoke";
import type { APIKey } from "./scopes";

/** The key of all that is read about API keys. */
export const keysKey = ["api-keys"];

export function APIKeysPage() {
  const keys = useList<APIKey>(keysKey, (cursor) => api.GET("/api-keys", { params: { query: { cursor, limit: 50 } } }));
  const [creating, setCreating] = useState(false);
  const [revoking, setRevoking] = useState<APIKey | null>(null);
  const create = (
    <Button onClick={() => setCreating(true)}>
      <Plus aria-hidden /> Create an API key
    </Button>
  );
  return (
    <>
      <PageHeader title="API keys" about="With a key, a server of yours works with this store: no login, no expiry, only what its scopes allow." actions={create} />
      <QueryState of={keys} />
      {keys.data && keys.rows.length === 0 && (
        <Empty title="No API keys yet">
          <p>Create one with mode “test” to try things out: it works in a sandbox of this store, which no kitchen and no report ever sees.</p>
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
      <More list={keys} />
      {creating && <CreateDialog onClose={() => setCreating(false)} />}
      {revoking && <RevokeDialog apiKey={revoking} onClose={() => setRevoking(null)} />}
    </>
  );
}
