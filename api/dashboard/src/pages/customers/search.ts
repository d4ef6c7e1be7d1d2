import { oneOf, textOf } from "../search";

export const kinds = { registered: "Registered", guest: "Guest" } as const;

/** The page's search parameters. */
export type CustomersSearch = { q?: string; kind?: keyof typeof kinds };

export const customersSearch = (search: Record<string, unknown>): CustomersSearch => ({
  q: textOf(search, "q"),
  kind: oneOf(search, "kind", kinds),
});
