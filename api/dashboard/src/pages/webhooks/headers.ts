/** A header in a form. */
export type HeaderRow = { key: number; name: string; value: string };

/** The maximum number of further headers of a webhook. */
export const maxHeaders = 10;

let last = 0;

/** Returns an empty row, or a row with a name. */
export const newHeader = (name = ""): HeaderRow => ({ key: ++last, name, value: "" });

/** Returns the headers of a request body. Of two rows with the same name, the API would not see the first one. */
export function headersOf(rows: HeaderRow[]): Record<string, string> {
  return Object.fromEntries(rows.map(({ name, value }) => [name.trim(), value]));
}

/** Returns the first name that occurs twice without regard to case. */
export function repeatedHeader(rows: HeaderRow[]): string | undefined {
  const names = rows.map(({ name }) => name.trim().toLowerCase());
  return rows[names.findIndex((name, index) => names.indexOf(name) !== index)]?.name.trim();
}
