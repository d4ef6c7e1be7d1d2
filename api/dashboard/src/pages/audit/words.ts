import type { components } from "@/api/schema";

export type Entry = components["schemas"]["AuditEntry"];
export type Action = Entry["action"];

/** What was done, in words. */
export const actions: Record<Action, string> = {
  "login.succeeded": "Logged in",
  "login.failed": "Login failed",
  logout: "Logged out",
  "session.reused": "Stolen session ended",
  "user.invited": "User invited",
  "invitation.accepted": "Invitation accepted",
  "user.role_changed": "Role changed",
  "user.removed": "User removed",
  "api_key.created": "API key created",
  "api_key.revoked": "API key revoked",
  "webhook.created": "Webhook created",
  "webhook.changed": "Webhook changed",
  "webhook.deleted": "Webhook deleted",
  "webhook.secret_rotated": "Webhook secret rotated",
  "webhook.deactivated": "Webhook switched off",
  "webhook.reactivated": "Webhook switched on",
  "webhook.replayed": "Webhook replayed",
  "settings.changed": "Settings changed",
  "plan.changed": "Plan changed",
  "website.opened": "Website opened",
  "website.suspended": "Website suspended",
  "website.resumed": "Website resumed",
  "refund.issued": "Refund issued",
};

const realms: Record<string, string> = { tenant: "user", customer: "customer", "platform-admin": "platform administrator", "api-key": "API key" };

/** Who did it: a name if there is one, else what sort of somebody. */
export function actorOf({ actor }: Entry): { name: string; kind?: string } {
  const kind = actor.realm && (realms[actor.realm] ?? actor.realm);
  if (!kind) return { name: "Comanda", kind: "by itself" };
  if (actor.name) return { name: actor.name, kind };
  return actor.id ? { name: actor.id, kind } : { name: "Somebody unknown", kind };
}

/** The details of a line: what each is, and what it was and became. */
export function detailsOf({ details = {} }: Entry): { label: string; text: string }[] {
  if (isChange(details)) return [{ label: "Change", text: words(details) }];
  return Object.entries(details).map(([name, value]) => ({ label: labelOf(name), text: words(value) }));
}

/** A member's name as people write it: bookingLeadMinutes is “Booking lead minutes”. */
function labelOf(name: string) {
  const text = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const isChange = (value: unknown): value is { from: unknown; to: unknown } =>
  typeof value === "object" && value !== null && Object.keys(value).sort().join() === "from,to";

function words(value: unknown): string {
  if (value === null || value === undefined || value === "") return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.length > 0 ? value.map(words).join(", ") : "none";
  if (isChange(value)) return `${words(value.from)} → ${words(value.to)}`;
  if (typeof value === "object") {
    const members = Object.entries(value);
    return members.length > 0 ? members.map(([name, member]) => `${name} ${words(member)}`).join(", ") : "none";
  }
  return String(value);
}
