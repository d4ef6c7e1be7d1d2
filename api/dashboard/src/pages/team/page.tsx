import { UserPlus } from "lucide-react";
import { useState } from "react";

import { queries } from "@/api/queries";
import { isLastOwner, roles } from "@/domain/roles";
import type { Member } from "@/domain/team";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { Time } from "@/ui/format";
import { ShowMore, useList } from "@/ui/list";
import { Badge, Card, Columns, Empty, PageHeader, QueryState, Table } from "@/ui/page";

import { Invitations } from "./invitations";
import { InviteDialog } from "./invite";
import { RemoveDialog } from "./remove";
import { RoleMenu } from "./role";

export function TeamPage() {
  const { user, storeName, store, stores } = useSession();
  const sandboxOf = store?.sandboxOf;
  const live = stores.find(({ storeId }) => storeId === sandboxOf);
  const members = useList(queries.users.list);
  const [inviting, setInviting] = useState(false);
  const [removing, setRemoving] = useState<Member | null>(null);
  const last = (member: Member) => !members.hasNextPage && isLastOwner(member, members.rows);
  const invite = (
    <Button onClick={() => setInviting(true)}>
      <UserPlus aria-hidden /> Invite user
    </Button>
  );
  return (
    <>
      <PageHeader title="Team" about={`The users of ${storeName} and their roles.`} actions={invite} />
      <div className="grid gap-5 [&>*]:min-w-0">
        {sandboxOf && (
          <p className="rounded-md border bg-muted p-3 text-sm">
            This store is a sandbox. Its users and invitations are those of {live?.storeName ?? "the live store"}:
            changes here apply to both.
          </p>
        )}
        <QueryState query={members} />
        {members.rows.length > 0 && (
          <Table label="Users of this store" stacked>
            <Columns names={["Name", "Role", "Joined", { hidden: "Actions" }]} />
            <tbody>
              {members.rows.map((member) => (
                <tr key={member.id}>
                  <td className="min-w-40 wrap-anywhere">
                    <span className="font-medium">{member.name}</span>{" "}
                    {member.id === user.id && <Badge tone="accent">you</Badge>}
                    <span className="block text-xs text-muted-foreground">{member.email}</span>
                  </td>
                  <td>
                    <RoleMenu member={member} />
                    {last(member) && <span className="block pt-1 text-xs text-muted-foreground">only owner</span>}
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
        <ShowMore list={members} />
        {members.data && !members.hasNextPage && members.rows.length === 1 && (
          <Empty title="No other users yet">
            <p>
              Users appear here when they accept your invitation. With a login for each user, the audit trail records
              their actions separately.
            </p>
            {invite}
          </Empty>
        )}
        <Invitations />
        <Card title="Roles">
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
