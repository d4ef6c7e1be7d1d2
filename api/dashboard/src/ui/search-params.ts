// Parsers for the search parameters of pages. Invalid values become undefined.

type Search = Record<string, unknown>;

/** Returns a text parameter. The router parses "12" as a number and "true" as a boolean, so these are texts too. */
export const textOf = (search: Search, name: string) => {
  const value = search[name];
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value) || undefined
    : undefined;
};

/** Returns a parameter if its value is a key of `known`. */
export const oneOf = <T extends string>(search: Search, name: string, known: Record<T, unknown>) => {
  const value = textOf(search, name);
  return value !== undefined && Object.hasOwn(known, value) ? (value as T) : undefined;
};

/** Returns a parameter that is a valid calendar day (YYYY-MM-DD). */
export const dayOf = (search: Search, name: string) => {
  const value = textOf(search, name);
  if (!value || !/^\d{4}-\d\d-\d\d$/.test(value)) return undefined;
  const day = new Date(`${value}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(value) ? value : undefined;
};
