type Cell = string | number | boolean | null | undefined;

/**
 * Returns a cell of a CSV file. A text that a spreadsheet would run as a formula gets an apostrophe. So does such a
 * text after apostrophes: the import of products removes one apostrophe and has the text again.
 */
function cell(value: Cell, separator: "," | ";"): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return separator === ";" ? String(value).replace(".", ",") : String(value);
  if (typeof value !== "string") return String(value);
  const safe = /^'*[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",;\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/**
 * Returns a CSV file with a header line. The byte order mark makes spreadsheets read it as UTF-8. Where a semicolon
 * separates the cells, a comma separates the decimals.
 */
export const csvOf = (columns: string[], rows: Cell[][], separator: "," | ";") =>
  "\uFEFF" +
  [columns, ...rows].map((row) => row.map((value) => cell(value, separator)).join(separator) + "\r\n").join("");

/** Returns the separator that spreadsheets expect in a locale: a semicolon where the comma separates decimals. */
export const separatorIn = (locale: string) => ((1.5).toLocaleString(locale).includes(",") ? ";" : ",");

/** Saves a text as a file. */
export function download(name: string, text: string, type = "text/csv") {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
