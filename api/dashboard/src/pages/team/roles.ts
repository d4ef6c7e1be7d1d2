import type { Role } from "@/session/session";

/** The roles from the lowest to the highest: each may do what those before it may, and what stands here. */
export const roles: Record<Role, { name: string; may: string }> = {
  STAFF: { name: "Staff", may: "takes orders and reservations, records payments, and sees products" },
  MANAGER: { name: "Manager", may: "also cancels and refunds orders, changes products and makes them unavailable, and sees customers" },
  ADMIN: { name: "Admin", may: "also sees analytics, keeps webhooks and settings, and deletes products" },
  OWNER: { name: "Owner", may: "does everything: also the team, API keys, the plan and the audit trail" },
};

type Member = { id: string; role: Role };

/** What somebody should know before a role is changed; nothing where it harms nobody and is changed back with a click. */
export function warningOf(member: Member, to: Role, self: string): string | undefined {
  if (member.id === self && member.role === "OWNER" && to !== "OWNER") return "You are no owner then, and cannot make yourself one again: another owner has to.";
  if (to === "OWNER") return "An owner may do everything here, as you do: create API keys, change the plan, and remove others, you among them.";
  return undefined;
}

/** Whether nobody else of a whole team is an owner. */
export const isLastOwner = (member: Member, team: Member[]) => member.role === "OWNER" && team.every((other) => other.id === member.id || other.role !== "OWNER");
