import type { components } from "@comanda/client";
import { useQuery } from "@tanstack/react-query";

import { queries } from "@/api/queries";

import { useSession } from "./session";

/** Reports whether the user may use an operation that the store can grant to STAFF. */
export function useStaffRight(right: components["schemas"]["StaffRight"]): boolean {
  const above = useSession().atLeast("MANAGER");
  const store = useQuery({ ...queries.store, staleTime: 60_000, enabled: !above });
  return above || (store.data?.staffMay.includes(right) ?? false);
}
