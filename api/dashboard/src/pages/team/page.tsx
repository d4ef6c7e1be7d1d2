import { Link } from "@tanstack/react-router";
import { UserPlus } from "lucide-react";
import { useState } from "react";

import { api } from "@/api/client";
import type { components } from "@/api/schema";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { Time } from "@/ui/format";
import { More, useList } from "@/ui/more";
import { Badge, Card, Columns, Empty, PageHeader, QueryState, Table } from "@/ui/page";

import { InviteDialog } from "./invite";
import { RemoveDialog } from "./remove";
import { RoleSelect } from "./role";
import { isLastOwner, roles } from "./roles";

export type Member = components["schemas"]["Member"];

/** The key of all that is read about users. */
export const usersKey = ["users"];

export function TeamPage() {
  const { user, storeName } = useSession();
  const members = useList<Member>(usersKey, (cursor) => api.GET("/users", { params: { query: { cursor, limit: 50 } } }));
  const [inviting, setInviting] = useState(false);
  const [removing, setRemoving] = useState<Member | null>(null);
  const last = (member: Member) => !members.hasNextPage && isLastOwner(member, members.rows);
  const invite = (
    <Button onClick={() => setInviting(true)}>
      <UserPlus aria-hidden /> Invite somebody
    </Button>
  );
  return (
    <>
      <PageHeader title="Team" about={`Who works in ${storeName}, and what each may do.`} actions={invite} />
      <div className="grid gap-5 [&>*]:min-w-0">
        <QueryState of={members} />
        {members.rows.length > 0 && (
          <Table label="Users of this store" stacked>
            <Columns names={["Name", "Role", "Joined", { hidden: "Actions" }]} />
            <tbody>
              {members.rows.map((member) => (
                <tr key={member.id}>
                  <td className="break-words">
                    <span className="font-medium">{member.name}</span> {member.id === user.id && <Badge tone="accent">you</Badge>}
                    <span className="block text-xs text-muted-foreground">{member.email}</span>
                  </td>
                  <td>
                    <RoleSelect member={member} />
                    {last(member) && <span className="block pt-1 text-xs text-muted-foreground">the only owner</span>}
                  </td>
                  <td>
                    <span className="text-muted-foreground sm:hidden">Joined </span>
                    <Time at={member.joinedAt} />
                  </td>
                  <td className="text-right">
                    <Button variant="danger" size="small" onClick={() => setRemoving(member)}>
                      Remove<span className="sr-only"> {member.name}</span>
                    </Button>
                  </td>
                </tr>
              ))}
            </tbody>
          </Table>
        )}
        <More list={members} />
        {members.data && !members.hasNextPage && members.rows.length === 1 && (
          <Empty title="You are the only one here">
            <p>Invite those who work with you: each logs in as themselves, and the audit trail knows who did what.</p>
            {invite}
          </Empty>
        )}
        <p className="text-sm text-muted-foreground">
          Who was invited, and who has accepted, stands in the{" "}
          <Link to="/audit" search={{ action: "user.invited" }} className="text-primary underline underline-offset-4">
            audit trail
          </Link>
          .
        </p>
        <Card title="What each role may do">
          <dl className="grid gap-x-6 gap-y-2 text-sm sm:grid-cols-[auto_1fr]">
            {Object.values(roles).map(({ name, may }) => (
              <div key={name} className="grid sm:col-span-2 sm:grid-cols-subgrid">
                <dt className="font-medium">{name}</dt>
                <dd className="text-muted-foreground">{may}</dd>
              </div>
            ))}
          </dl>
        </Card>
      </div>
      {inviting && <InviteDialog onClose={() => setInviting(false)} />}
      {removing && <RemoveDialog member={removing} last={last(removing)} onClose={() => setRemoving(null)} />}
    </>
  );
}
