import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { api, data } from "@/api/client";
import { useInvalidate, queries } from "@/api/queries";
import { InvitationDialog } from "@/components/invitation-dialog";
import { WithdrawDialog } from "@/components/withdraw-dialog";
import { roles } from "@/domain/roles";
import type { Invitation } from "@/domain/team";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { Time } from "@/ui/format";
import { ShowMore, useList } from "@/ui/list";
import { Card, Columns, Failure, Loading, Table } from "@/ui/page";
import { useErrorToast } from "@/ui/toast";

/** The pending invitations of the store. */
export function Invitations() {
  const { stores } = useSession();
  const invitations = useList(queries.invitations);
  const invalidate = useInvalidate();
  const showError = useErrorToast();
  const [withdrawing, setWithdrawing] = useState<Invitation | null>(null);
  const resend = useMutation({
    mutationFn: ({ id }: Invitation) => data(api.POST("/invitations/{id}/resend", { params: { path: { id } } })),
    onError: showError,
    onSettled: () => invalidate("invitations"),
  });
  const nameOf = (id: string) => stores.find((store) => store.storeId === id)?.storeName ?? id;
  return (
    <Card title="Pending invitations">
      <Failure error={invitations.error} retry={() => void invitations.refetch()} />
      {invitations.isPending && <Loading />}
      {invitations.data && invitations.rows.length === 0 && (
        <p className="text-sm text-muted-foreground">
          No pending invitations. An invitation appears here until the user accepts it or it expires.
        </p>
      )}
      {invitations.rows.length > 0 && (
        <Table label="Pending invitations" stacked>
          <Columns names={["Name", "Role", "Stores", "Invited by", "Expires", { hidden: "Actions" }]} />
          <tbody>
            {invitations.rows.map((invitation) => (
              <tr key={invitation.id}>
                <td className="min-w-40 wrap-anywhere">
                  <span className="font-medium">{invitation.name}</span>
                  <span className="block text-xs text-muted-foreground">{invitation.email}</span>
                </td>
                <td>{roles[invitation.role].name}</td>
                <td>{invitation.storeIds.map(nameOf).join(", ")}</td>
                <td>
                  <span className="text-muted-foreground sm:hidden">Invited by </span>
                  {invitation.invitedBy.name}
                </td>
                <td>
                  <span className="text-muted-foreground sm:hidden">Expires </span>
                  <Time at={invitation.expiresAt} />
                </td>
                <td>
                  <span className="flex flex-wrap gap-2 sm:justify-end lg:flex-nowrap">
                    <Button
                      variant="outline"
                      size="small"
                      busy={resend.isPending && resend.variables.id === invitation.id}
                      onClick={() => resend.mutate(invitation)}
                    >
                      Resend<span className="sr-only"> the invitation of {invitation.name}</span>
                    </Button>
                    <Button variant="danger" size="small" onClick={() => setWithdrawing(invitation)}>
                      Withdraw<span className="sr-only"> the invitation of {invitation.name}</span>
                    </Button>
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      <ShowMore list={invitations} />
      {resend.data && <InvitationDialog invitation={resend.data} title="Invitation resent" onClose={resend.reset} />}
      {withdrawing && (
        <WithdrawDialog
          invitation={withdrawing}
          withdraw={() => api.DELETE("/invitations/{id}", { params: { path: { id: withdrawing.id } } })}
          resource="invitations"
          onClose={() => setWithdrawing(null)}
        />
      )}
    </Card>
  );
}
