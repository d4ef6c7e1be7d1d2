import { dayOf, oneOf, textOf } from "@/pages/search";

import { type Action, actions } from "./words";

/** Which lines of the trail are shown. The days are the store's, both included. */
export type AuditSearch = { action?: Action; actorId?: string; target?: string; from?: string; to?: string };

export const auditSearch = (search: Record<string, unknown>): AuditSearch => ({
  action: oneOf<Action>(search, "action", actions),
  actorId: textOf(search, "actorId"),
  target: textOf(search, "target"),
  from: dayOf(search, "from"),
  to: dayOf(search, "to"),
});
