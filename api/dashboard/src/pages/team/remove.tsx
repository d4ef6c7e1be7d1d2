import { useMutation } from "@tanstack/react-query";

import { api } from "@/api/client";
import { useInvalidate } from "@/api/queries";
import type { Member } from "@/domain/team";
import { useSession } from "@/session/session";
import { FormDialog } from "@/ui/dialog";
import { useToast } from "@/ui/toast";

/** Removes a user from the store, or lets the current user leave it. */
export function RemoveDialog({ member, last, onClose }: { member: Member; last: boolean; onClose: () => void }) {
  const { user, storeName } = useSession();
  const invalidate = useInvalidate();
  const toast = useToast();
  const self = member.id === user.id;
  const remove = useMutation({
    mutationFn: () => api.DELETE("/users/{id}", { params: { path: { id: member.id } } }),
    onSuccess: () => {
      toast(self ? `You have left ${storeName}` : `${member.name} removed`);
      onClose();
    },
    onSettled: () => invalidate("users"),
  });
  return (
    <FormDialog
      danger
      onClose={onClose}
      title={self ? `Leave ${storeName}?` : `Remove ${member.name}?`}
      mutation={remove}
      onSubmit={() => remove.mutate()}
      submitLabel={self ? "Leave store" : "Remove"}
      cancelLabel={self ? "Stay" : "Keep"}
    >
      <ul className="grid list-disc gap-1.5 pl-5 text-sm">
        {last && (
          <li className="font-medium">
            A store must have an owner, and this is its only one. Make another user an owner first.
          </li>
        )}
        <li>
          {self
            ? "You lose access to this store immediately. To return, you need a new invitation."
            : "They lose access to this store immediately. To return, they need a new invitation."}
        </li>
        <li>{self ? "Your" : "Their"} login and access to other stores do not change.</li>
        <li>
          Records of {self ? "your" : "their"} actions keep {self ? "your" : "their"} name.
        </li>
        <li>API keys remain valid. Revoke the keys that {self ? "you" : "they"} know.</li>
      </ul>
    </FormDialog>
  );
}
