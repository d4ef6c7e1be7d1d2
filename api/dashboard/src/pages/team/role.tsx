import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, data } from "@/api/client";
import { wordsOf } from "@/api/words";
import { type Role, useSession } from "@/session/session";
import { FormDialog } from "@/ui/dialog";
import { Select } from "@/ui/field";
import { useToast } from "@/ui/toast";

import { type Member, usersKey } from "./page";
import { roles, warningOf } from "./roles";

/** The role of somebody. Another one counts at once, but for those that are asked about first. */
export function RoleSelect({ member }: { member: Member }) {
  const { user } = useSession();
  const queries = useQueryClient();
  const toast = useToast();
  const [asking, setAsking] = useState<Role | null>(null);
  const change = useMutation({
    mutationFn: (role: Role) => data(api.PATCH("/users/{id}", { params: { path: { id: member.id } }, body: { role } })),
    onSuccess: (changed) => {
      toast(`${changed.name} is ${changed.role} now`);
      setAsking(null);
    },
    onError: (error) => asking ?? toast(wordsOf(error), { bad: true }),
    onSettled: () => Promise.all([usersKey, ...(member.id === user.id ? [["me"], ["stores"]] : [])].map((queryKey) => queries.invalidateQueries({ queryKey }))),
  });
  return (
    <>
      <Select
        aria-label={`Role of ${member.name}`}
        className="w-32"
        value={asking ?? (change.isPending ? change.variables : member.role)}
        disabled={change.isPending}
        onChange={(event) => {
          const role = event.target.value as Role;
          if (warningOf(member, role, user.id)) setAsking(role);
          else change.mutate(role);
        }}
      >
        {Object.entries(roles).map(([role, { name }]) => (
          <option key={role} value={role}>
            {name}
          </option>
        ))}
      </Select>
      {asking && (
        <FormDialog
          onClose={() => setAsking(null)}
          title={member.id === user.id ? `Become ${roles[asking].name}?` : `Make ${member.name} ${roles[asking].name}?`}
          description={warningOf(member, asking, user.id)}
          doing={change}
          onSubmit={() => change.mutate(asking)}
          deed="Change the role"
          keep="Leave it"
        />
      )}
    </>
  );
}
