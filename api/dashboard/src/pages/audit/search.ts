import { dayOf, oneOf, textOf } from "@/ui/search-params";

import { type Action, type Realm, actions, realms } from "./labels";

/** The page's filters. The days are in the store's time zone, and both are included. */
export type AuditSearch = {
  action?: Action;
  realm?: Realm;
  actorId?: string;
  target?: string;
  from?: string;
  to?: string;
};

export const auditSearch = (search: Record<string, unknown>): AuditSearch => ({
  action: oneOf<Action>(search, "action", actions),
  realm: oneOf<Realm>(search, "realm", realms),
  actorId: textOf(search, "actorId"),
  target: textOf(search, "target"),
  from: dayOf(search, "from"),
  to: dayOf(search, "to"),
});
