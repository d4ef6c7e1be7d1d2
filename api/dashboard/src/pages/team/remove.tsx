import { useMutation, useQueryClient } from "@tanstack/react-query";

import { api } from "@/api/client";
import { useSession } from "@/session/session";
import { FormDialog } from "@/ui/dialog";
import { useToast } from "@/ui/toast";

import { type Member, usersKey } from "./page";

/** Removes somebody from the store, or oneself. */
export function RemoveDialog({ member, last, onClose }: { member: Member; last: boolean; onClose: () => void }) {
  const { user, storeName } = useSession();
  const queries = useQueryClient();
  const toast = useToast();
  const self = member.id === user.id;
  const remove = useMutation({
    mutationFn: () => api.DELETE("/users/{id}", { params: { path: { id: member.id } } }),
    onSuccess: () => {
      toast(`${member.name} has left the store`);
      onClose();
    },
    onSettled: () => queries.invalidateQueries({ queryKey: usersKey }),
  });
  return (
    <FormDialog
      danger
      onClose={onClose}
      title={self ? `Leave ${storeName}?` : `Remove ${member.name}?`}
      doing={remove}
      onSubmit={() => remove.mutate()}
      deed={self ? "Leave the store" : "Remove"}
      keep={self ? "Stay" : "Keep"}
    >
      <ul className="grid list-disc gap-1.5 pl-5 text-sm">
        {last && <li className="font-medium">A store must keep an owner, and this is the only one: make somebody else an owner first.</li>}
        <li>
          {self
            ? "You lose this store with your next click, and come back by an invitation alone."
            : "They lose this store with their next click, and come back by an invitation alone."}
        </li>
        <li>Other stores of {self ? "yours" : "theirs"} stay, and so does the login.</li>
        <li>
          What {self ? "you" : "they"} did here stays as it is, under {self ? "your" : "their"} name.
        </li>
        <li>API keys go on working, whoever made them. Revoke those that {self ? "you" : "they"} have a copy of.</li>
      </ul>
    </FormDialog>
  );
}
