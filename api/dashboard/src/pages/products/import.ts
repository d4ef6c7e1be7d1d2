import { ComandaError } from "@comanda/client";

/** The fields of an import in the words of the form. */
const labels: Record<string, string> = {
  sku: "SKU",
  name: "Name",
  description: "Description",
  category: "Category",
  imageUrl: "Image",
  priceMinor: "Price",
  currency: "Currency",
  prices: "Other prices",
  translations: "Translations",
  taxRatePpm: "Tax rate",
  isAvailable: "Available",
  stockQuantity: "Stock",
  orderable: "Orderable",
  soldOutUntil: "Sold out until",
  optionGroups: "Options",
  position: "Position",
  externalId: "External id",
  metadata: "Metadata",
};

export const fieldLabel = (field: string) => labels[field] ?? field;

export type FileType = "text/csv" | "application/json";

/** Returns the type of a file by its name. */
export const typeOf = (name: string): FileType => (/\.json$/i.test(name) ? "application/json" : "text/csv");

/** A fault of a file: the row as a person counts, and the column, as far as the API has named them. */
export type Fault = { row?: number; column?: string; message: string };

/**
 * Returns the faults of a refused import. Rows of a CSV are counted as in a spreadsheet, where the first line has the
 * names of the columns; elements of JSON are counted from 1.
 */
export function faultsOf(error: unknown, type: FileType): Fault[] {
  if (!(error instanceof ComandaError)) return [];
  return error.details.map(({ path, message }) => {
    const match = /^rows\[(\d+)\](?:\.(.+))?$/.exec(path);
    if (!match) return { column: path === "rows" ? undefined : path, message };
    return { row: Number(match[1]) + (type === "text/csv" ? 2 : 1), column: match[2], message };
  });
}
