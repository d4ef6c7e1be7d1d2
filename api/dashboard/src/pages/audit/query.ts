import { useMemo } from "react";

import { addDays, startOfDay } from "@/domain/zone";
import { useAccount } from "@/session/account";

import type { AuditSearch } from "./search";

/** Returns the API's filters for those of the page. */
export function useAuditQuery(search: AuditSearch) {
  const { timezone } = useAccount();
  return useMemo(
    () => ({
      ...search,
      from: search.from && startOfDay(search.from, timezone),
      to: search.to && startOfDay(addDays(search.to, 1), timezone),
    }),
    [search, timezone],
  );
}
