import { useMutation } from "@tanstack/react-query";

import { type Resource, useInvalidate } from "@/api/queries";
import type { Invitation } from "@/domain/team";
import { FormDialog } from "@/ui/dialog";
import { useToast } from "@/ui/toast";

type Props = {
  invitation: Invitation;
  /** Sends the request. */
  withdraw: () => Promise<unknown>;
  /** The resource that shows the invitation. */
  resource: Resource;
  onClose: () => void;
};

/** Withdraws an invitation. */
export function WithdrawDialog({ invitation, withdraw, resource, onClose }: Props) {
  const invalidate = useInvalidate();
  const toast = useToast();
  const mutation = useMutation({
    mutationFn: withdraw,
    onSuccess: () => {
      toast(`Invitation of ${invitation.name} withdrawn`);
      onClose();
    },
    onSettled: () => invalidate(resource),
  });
  return (
    <FormDialog
      danger
      onClose={onClose}
      title={`Withdraw the invitation of ${invitation.name}?`}
      description={`The link that ${invitation.email} received becomes invalid. You can invite the user again.`}
      mutation={mutation}
      onSubmit={() => mutation.mutate()}
      submitLabel="Withdraw"
      cancelLabel="Keep"
    />
  );
}
