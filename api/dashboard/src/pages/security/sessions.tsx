import type { components } from "@comanda/client";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { api } from "@/api/client";
import { useInvalidate, queries } from "@/api/queries";
import { Button } from "@/ui/button";
import { FormDialog } from "@/ui/dialog";
import { Time } from "@/ui/format";
import { ShowMore, useList } from "@/ui/list";
import { Badge, Card, Columns, QueryState, Table } from "@/ui/page";
import { useToast } from "@/ui/toast";

import { deviceOf } from "./device";

type LoginSession = components["schemas"]["LoginSession"];

/** The sessions of the user: every browser that is logged in. */
export function SessionsCard() {
  const sessions = useList(queries.sessions);
  // The session to end, or all others.
  const [ending, setEnding] = useState<LoginSession | "others" | null>(null);
  const others = sessions.rows.some((session) => !session.current);
  return (
    <Card
      title="Sessions"
      actions={
        others && (
          <Button variant="danger" size="small" onClick={() => setEnding("others")}>
            End all other sessions
          </Button>
        )
      }
    >
      <p className="mb-3 max-w-prose text-sm text-muted-foreground">
        Each login in a browser is a session. End sessions that you do not recognize, then change your password.
      </p>
      <QueryState query={sessions} />
      {sessions.rows.length > 0 && (
        <Table label="Sessions" stacked>
          <Columns names={["Device", "Logged in", "Last used", { hidden: "Actions" }]} />
          <tbody>
            {sessions.rows.map((session) => (
              <tr key={session.id}>
                <td className="break-words" title={session.userAgent}>
                  <span className="font-medium">{deviceOf(session.userAgent)}</span>{" "}
                  {session.current && <Badge tone="accent">this device</Badge>}
                  <span className="block text-xs text-muted-foreground tabular-nums">{session.address}</span>
                </td>
                <td>
                  <span className="text-muted-foreground sm:hidden">Logged in </span>
                  <Time at={session.createdAt} />
                </td>
                <td>
                  <span className="text-muted-foreground sm:hidden">Last used </span>
                  <Time at={session.lastUsedAt} />
                </td>
                <td className="h-13 text-right">
                  {!session.current && (
                    <Button variant="danger" size="small" onClick={() => setEnding(session)}>
                      End<span className="sr-only"> the session of {deviceOf(session.userAgent)}</span>
                    </Button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      <ShowMore list={sessions} />
      {ending && <EndDialog session={ending} onClose={() => setEnding(null)} />}
    </Card>
  );
}

function EndDialog({ session, onClose }: { session: LoginSession | "others"; onClose: () => void }) {
  const invalidate = useInvalidate();
  const toast = useToast();
  const others = session === "others";
  const end = useMutation({
    mutationFn: () =>
      others
        ? api.DELETE("/auth/sessions")
        : api.DELETE("/auth/sessions/{id}", { params: { path: { id: session.id } } }),
    onSuccess: () => {
      toast(others ? "All other sessions ended" : "Session ended");
      onClose();
    },
    onSettled: () => invalidate("sessions"),
  });
  return (
    <FormDialog
      danger
      onClose={onClose}
      title={others ? "End all other sessions?" : `End the session of ${deviceOf(session.userAgent)}?`}
      description={
        others
          ? "You stay logged in on this device only. The other devices must log in again."
          : "The device must log in again."
      }
      mutation={end}
      onSubmit={() => end.mutate()}
      submitLabel={others ? "End sessions" : "End session"}
      cancelLabel="Keep"
    />
  );
}
