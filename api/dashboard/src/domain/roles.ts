export type Role = "OWNER" | "ADMIN" | "MANAGER" | "STAFF";

/** The roles from lowest to highest. Each role has the permissions of the roles before it. */
export const roles: Record<Role, { name: string; may: string }> = {
  STAFF: { name: "Staff", may: "can take orders and reservations, record payments and view products" },
  MANAGER: { name: "Manager", may: "can also cancel and refund orders, edit products and view customers" },
  ADMIN: { name: "Admin", may: "can also view analytics, manage webhooks and settings, and delete products" },
  OWNER: { name: "Owner", may: "can also manage the team, API keys and the plan, and view the audit trail" },
};

const ranks: Record<Role, number> = { STAFF: 1, MANAGER: 2, ADMIN: 3, OWNER: 4 };

/** Reports whether a role is at least another one. */
export const isAtLeast = (role: Role, least: Role) => ranks[role] >= ranks[least];

type Member = { id: string; role: Role };

/** Returns a warning for a role change that the user cannot undo, or undefined. */
export function warningOf(member: Member, to: Role, self: string): string | undefined {
  if (member.id === self && member.role === "OWNER" && to !== "OWNER")
    return "You will no longer be an owner. Only another owner can change this back.";
  if (to === "OWNER") return "An owner has full access to this store and can remove other users, including you.";
  return undefined;
}

/** Reports whether a member is the only owner. `team` must be the whole team. */
export const isLastOwner = (member: Member, team: Member[]) =>
  member.role === "OWNER" && team.every((other) => other.id === member.id || other.role !== "OWNER");
