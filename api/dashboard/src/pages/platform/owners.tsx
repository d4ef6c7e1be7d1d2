import { UserPlus } from "lucide-react";
import { useState } from "react";

import { api } from "@/api/client";
import { WithdrawDialog } from "@/components/withdraw-dialog";
import type { Invitation } from "@/domain/team";
import { Button } from "@/ui/button";
import { Time } from "@/ui/format";
import { Badge, Card, Columns, Table } from "@/ui/page";

import type { WebsiteDetails } from "./types";

/** The names of the stores with these ids. */
const namesOf = (ids: string[], { stores }: WebsiteDetails) =>
  ids.map((id) => stores.find((store) => store.storeId === id)?.storeName ?? id).join(", ");

/** The owners of a website and their pending invitations. */
export function Owners({ website, onInvite }: { website: WebsiteDetails; onInvite: () => void }) {
  const { owners } = website;
  return (
    <Card
      title="Owners"
      actions={
        <Button variant="outline" size="small" onClick={onInvite}>
          <UserPlus aria-hidden /> Invite owner
        </Button>
      }
    >
      <div className="grid gap-4">
        {owners.length === 0 && (
          <p className="text-sm text-muted-foreground">
            No owners yet. An owner appears here after accepting an invitation.
          </p>
        )}
        {owners.length > 0 && (
          <Table label="Owners" stacked>
            <Columns names={["Owner", "Stores"]} />
            <tbody>
              {owners.map((owner) => (
                <tr key={owner.id}>
                  <td className="break-words">
                    <span className="font-medium">{owner.name}</span>{" "}
                    {owner.disabled && <Badge tone="bad">disabled</Badge>}
                    <span className="block text-xs text-muted-foreground">{owner.email}</span>
                  </td>
                  <td>{namesOf(owner.storeIds, website)}</td>
                </tr>
              ))}
            </tbody>
          </Table>
        )}
        <Invitations website={website} />
      </div>
    </Card>
  );
}

function Invitations({ website }: { website: WebsiteDetails }) {
  const { invitations } = website;
  const [withdrawing, setWithdrawing] = useState<Invitation | null>(null);
  return (
    <>
      <h3 className="text-sm font-medium">Pending invitations</h3>
      {invitations.length === 0 && (
        <p className="text-sm text-muted-foreground">
          No pending invitations. An invitation appears here until the owner accepts it or it expires.
        </p>
      )}
      {invitations.length > 0 && (
        <Table label="Pending invitations" stacked>
          <Columns names={["Name", "Stores", "Invited by", "Expires", { hidden: "Actions" }]} />
          <tbody>
            {invitations.map((invitation) => (
              <tr key={invitation.id}>
                <td className="break-words">
                  <span className="font-medium">{invitation.name}</span>
                  <span className="block text-xs text-muted-foreground">{invitation.email}</span>
                </td>
                <td>{namesOf(invitation.storeIds, website)}</td>
                <td>
                  <span className="text-muted-foreground sm:hidden">Invited by </span>
                  {invitation.invitedBy.name}
                </td>
                <td>
                  <span className="text-muted-foreground sm:hidden">Expires </span>
                  <Time at={invitation.expiresAt} />
                </td>
                <td className="text-right">
                  <Button variant="danger" size="small" onClick={() => setWithdrawing(invitation)}>
                    Withdraw<span className="sr-only"> the invitation of {invitation.name}</span>
                  </Button>
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      {withdrawing && (
        <WithdrawDialog
          invitation={withdrawing}
          withdraw={() =>
            api.DELETE("/platform/websites/{id}/invitations/{invitationId}", {
              params: { path: { id: website.id, invitationId: withdrawing.id } },
            })
          }
          resource="websites"
          onClose={() => setWithdrawing(null)}
        />
      )}
    </>
  );
}
