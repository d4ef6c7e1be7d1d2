import type { components } from "@comanda/client";

import { days } from "@/domain/opening-hours";
import { fulfillments, statuses } from "@/domain/orders";
import { planManagers, planName, plans } from "@/domain/plans";
import { roles } from "@/domain/roles";

export type Entry = components["schemas"]["AuditEntry"];
export type Action = Entry["action"];

/** The label of each action. */
export const actions: Record<Action, string> = {
  "login.succeeded": "Logged in",
  "login.failed": "Login failed",
  logout: "Logged out",
  "session.reused": "Reused session ended",
  "session.ended": "Session ended",
  "password.changed": "Password changed",
  "password.reset_issued": "Password reset requested",
  "password.reset": "Password reset",
  "email.change_requested": "Change of email requested",
  "email.changed": "Email changed",
  "platform_admin.created": "Platform administrator created",
  "user.disabled": "User disabled",
  "user.enabled": "User enabled",
  "identity.linked": "Social login linked",
  "otp.enabled": "Second factor switched on",
  "otp.disabled": "Second factor switched off",
  "otp.reset": "Second factor reset",
  "recovery_codes.replaced": "Recovery codes replaced",
  "recovery_code.used": "Recovery code used",
  "user.invited": "User invited",
  "invitation.accepted": "Invitation accepted",
  "invitation.resent": "Invitation resent",
  "invitation.withdrawn": "Invitation withdrawn",
  "user.role_changed": "Role changed",
  "user.removed": "User removed",
  "api_key.created": "API key created",
  "api_key.revoked": "API key revoked",
  "webhook.created": "Webhook created",
  "webhook.changed": "Webhook changed",
  "webhook.deleted": "Webhook deleted",
  "webhook.secret_rotated": "Webhook secret rotated",
  "webhook.deactivated": "Webhook turned off",
  "webhook.reactivated": "Webhook turned on",
  "webhook.replayed": "Webhook replayed",
  "webhook.retried": "Delivery retried",
  "settings.changed": "Settings changed",
  "plan.changed": "Plan changed",
  "website.opened": "Website opened",
  "website.suspended": "Website suspended",
  "website.resumed": "Website resumed",
  "customer.disabled": "Customer disabled",
  "customer.enabled": "Customer enabled",
  "customer.claimed": "Customer account claimed",
  "customer.erased": "Customer erased",
  "store.created": "Store created",
  "store.changed": "Store changed",
  "ordering.paused": "Ordering paused",
  "ordering.resumed": "Ordering resumed",
  "store_view.created": "View created",
  "store_view.changed": "View changed",
  "store_view.deleted": "View deleted",
  "website.changed": "Website changed",
  "website.client_ids_changed": "Client ids of social login changed",
  "website.client_ids_refused": "Client id of another website refused",
  "refund.issued": "Refund issued",
  "product.prices_changed": "Prices changed",
  "order.cancelled": "Order cancelled",
  "order.total_lowered": "Total of an order lowered",
};

export type Realm = "tenant" | "customer" | "platform-admin" | "api-key";

/** The label of each kind of actor. */
export const realms: Record<Realm, string> = {
  tenant: "Users",
  "api-key": "API keys",
  "platform-admin": "Platform administrators",
  customer: "Customers",
};

const kinds: Record<string, string> = {
  tenant: "user",
  customer: "customer",
  "platform-admin": "platform administrator",
  "api-key": "API key",
};

/** Returns the name and kind of an entry's actor; the id replaces a missing name. */
export function actorOf({ actor }: Entry): { name: string; kind?: string } {
  const kind = actor.realm && (kinds[actor.realm] ?? actor.realm);
  if (!kind) return { name: "Comanda", kind: "automatic" };
  if (actor.name) return { name: actor.name, kind };
  return actor.id ? { name: actor.id, kind } : { name: "Unknown", kind };
}

/** The formats of the values of details: the units of the API are not those of people. */
export type Formats = {
  money: (minor: number, currency: string) => string;
  time: (at: string) => string;
  rate: (ppm: number) => string;
  weekday: (day: (typeof days)[number]) => string;
};

/** The words for constants of the API. */
const words: Record<string, string> = {
  ...fulfillments,
  ...statuses,
  ...Object.fromEntries(plans.map((plan) => [plan, planName(plan)])),
  ...Object.fromEntries(Object.entries(roles).map(([role, { name }]) => [role, name])),
};

/** The members whose values are constants; "" is a change without a member. */
const constants = new Set(["", "role", "plan", "previousStatus", "types"]);

/** The words for constants that mean something else in other members. */
const wordsOf: Partial<Record<string, Record<string, string>>> = { planManagedBy: planManagers };

/** Returns the details of an entry. A change is shown as "old → new", and money with its currency. */
export function detailsOf({ details = {} }: Entry, formats: Formats): { label: string; text: string }[] {
  const { currency } = details as { currency?: unknown };
  const format = valueFormat(formats, typeof currency === "string" ? currency : undefined);
  if (isChange(details)) return [{ label: "Change", text: format("", details) }];
  const hasMoney = Object.keys(details).some((name) => name.endsWith("Minor"));
  return Object.entries(details)
    .filter(([name]) => !(name === "currency" && hasMoney)) // the amounts show it
    .map(([name, value]) => ({ label: labelOf(name), text: format(name, value) }));
}

/** Returns the label of a member: bookingLeadMinutes becomes "Booking lead minutes". */
function labelOf(name: string) {
  const text = name
    .replace(/(Minor|Ppm)$/, "")
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const isChange = (value: unknown): value is { from: unknown; to: unknown } =>
  typeof value === "object" && value !== null && Object.keys(value).sort().join() === "from,to";

/** Reports whether a pair is a span of opening hours or of closed days, which is not a change. */
const isSpan = ({ from, to }: { from: unknown; to: unknown }) =>
  [from, to].every((end) => typeof end === "string" && /^(\d\d:\d\d|\d{4}-\d\d-\d\d)$/.test(end));

const isDay = (member: string) => days.some((day) => day === member);

const isTime = (value: unknown): value is string =>
  typeof value === "string" && /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/.test(value);

const isCurrency = (name: string) => /^[A-Z]{3}$/.test(name);

/** Returns a function that formats the value of a member. */
function valueFormat({ money, time, rate, weekday }: Formats, currency: string | undefined) {
  const format = (name: string, value: unknown): string => {
    if (value === null || value === undefined || value === "") return "none";
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (Array.isArray(value)) return value.length > 0 ? value.map((one) => format(name, one)).join(", ") : "none";
    if (isChange(value)) {
      if (isSpan(value)) return `${value.from}–${value.to}`;
      return `${format(name, value.from)} → ${format(name, value.to)}`;
    }
    if (typeof value === "object") {
      const members: [string, unknown][] = Object.keys(value).every(isDay)
        ? days.flatMap((day) => (day in value ? [[weekday(day), value[day as keyof typeof value]]] : []))
        : Object.entries(value);
      if (members.length === 0) return "none";
      return members
        .map(([member, one]) =>
          isCurrency(member) && typeof one === "number"
            ? money(one, member)
            : `${words[member] ?? member} ${format(member, one)}`,
        )
        .join(", ");
    }
    const known = wordsOf[name] ?? (constants.has(name) ? words : undefined);
    if (typeof value === "string" && known) return known[value] ?? value;
    if (typeof value === "number" && name.endsWith("Ppm")) return rate(value);
    if (typeof value === "number" && name.endsWith("Minor") && currency) return money(value, currency);
    return isTime(value) ? time(value) : String(value);
  };
  return format;
}
