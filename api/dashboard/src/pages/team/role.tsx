import { useMutation } from "@tanstack/react-query";
import { ChevronDown } from "lucide-react";
import { useState } from "react";

import { api, data } from "@/api/client";
import { useInvalidate } from "@/api/queries";
import { type Role, roles, warningOf } from "@/domain/roles";
import type { Member } from "@/domain/team";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { FormDialog } from "@/ui/dialog";
import { Menu, MenuItem } from "@/ui/menu";
import { useToast } from "@/ui/toast";

/** Shows the role of a user in a menu of the other roles. Each change must be confirmed. */
export function RoleMenu({ member }: { member: Member }) {
  const { user } = useSession();
  const invalidate = useInvalidate();
  const toast = useToast();
  const [confirming, setConfirming] = useState<Role | null>(null);
  const change = useMutation({
    mutationFn: (role: Role) => data(api.PATCH("/users/{id}", { params: { path: { id: member.id } }, body: { role } })),
    onSuccess: (changed) => {
      toast(`Role of ${changed.name} changed to ${roles[changed.role as Role].name}`);
      setConfirming(null);
    },
    onSettled: () => invalidate("users"),
  });
  const role = member.role as Role;
  return (
    <>
      <Menu
        label={`Role of ${member.name}`}
        trigger={
          <Button
            variant="outline"
            className="w-32 justify-between"
            aria-label={`Role of ${member.name}: ${roles[role].name}`}
          >
            {roles[role].name} <ChevronDown aria-hidden />
          </Button>
        }
      >
        {(Object.keys(roles) as Role[])
          .filter((other) => other !== role)
          .map((other) => (
            <MenuItem
              key={other}
              onSelect={() => {
                change.reset();
                setConfirming(other);
              }}
            >
              {roles[other].name}
            </MenuItem>
          ))}
      </Menu>
      {confirming && (
        <FormDialog
          onClose={() => setConfirming(null)}
          title={
            member.id === user.id
              ? `Change your role to ${roles[confirming].name}?`
              : `Change the role of ${member.name} to ${roles[confirming].name}?`
          }
          description={
            warningOf(member, confirming, user.id) ?? `${roles[role].name} becomes ${roles[confirming].name}.`
          }
          mutation={change}
          onSubmit={() => change.mutate(confirming)}
          submitLabel="Change role"
          cancelLabel="Keep role"
        />
      )}
    </>
  );
}
