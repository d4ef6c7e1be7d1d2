// What addresses of pages say about what is shown. What makes no sense is left out.

type Search = Record<string, unknown>;

/** A text, undefined when there is none. Numbers and the like are what the router makes of digits. */
export const textOf = (search: Search, name: string) => {
  const value = search[name];
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value) || undefined : undefined;
};

/** One of some known values. */
export const oneOf = <T extends string>(search: Search, name: string, known: Record<T, unknown>) => {
  const value = textOf(search, name);
  return value !== undefined && Object.hasOwn(known, value) ? (value as T) : undefined;
};

/** A day as YYYY-MM-DD that the calendar has. */
export const dayOf = (search: Search, name: string) => {
  const value = textOf(search, name);
  if (!value || !/^\d{4}-\d\d-\d\d$/.test(value)) return undefined;
  const day = new Date(`${value}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(value) ? value : undefined;
};
