import type { components } from "@/api/schema";
import { parseMoney, plainMoney } from "@/ui/format";

type Product = components["schemas"]["Product"];
type Create = components["schemas"]["CreateProductRequest"];
type Change = components["schemas"]["ChangeProductRequest"];

/** A product as it is typed: amounts, rates and counts are texts. */
export type Draft = {
  name: string;
  description: string;
  category: string;
  sku: string;
  imageUrl: string;
  tax: string; // percent, "" = the store's
  stock: string; // "" = not counted
  isAvailable: boolean;
  currency: string;
  prices: Record<string, string>; // by currency, the product's own among them; "" = none
  texts: Record<string, { name: string; description: string }>; // by locale
};

/** The draft of a product, or of a new one, with room for these currencies and locales. */
export function draftOf(product: Product | undefined, currencies: string[], locales: string[]): Draft {
  const own = product?.currency ?? currencies[0]!;
  const amounts: Record<string, number> = product ? { ...product.prices, [own]: product.priceMinor } : {};
  return {
    name: product?.name ?? "",
    description: product?.description ?? "",
    category: product?.category ?? "",
    sku: product?.sku ?? "",
    imageUrl: product?.imageUrl ?? "",
    tax: product?.taxRatePpm === undefined ? "" : String(product.taxRatePpm / 10_000),
    stock: product?.stockQuantity === undefined ? "" : String(product.stockQuantity),
    isAvailable: product?.isAvailable ?? true,
    currency: own,
    prices: Object.fromEntries([...new Set([own, ...currencies, ...Object.keys(amounts)])].map((one) => [one, one in amounts ? plainMoney(amounts[one]!, one) : ""])),
    texts: Object.fromEntries(
      [...new Set([...locales, ...Object.keys(product?.translations ?? {})])].map((one) => [
        one,
        { name: product?.translations[one]?.name ?? "", description: product?.translations[one]?.description ?? "" },
      ]),
    ),
  };
}

/** What cannot be read of a draft, by the members of the request. */
export function faultsOf(draft: Draft): Record<string, string> {
  const faults: Record<string, string> = {};
  for (const [currency, text] of Object.entries(draft.prices)) {
    if (text.trim() ? parseMoney(text, currency) === null : currency === draft.currency) faults[`prices.${currency}`] = "This is no amount";
  }
  if (draft.tax.trim() && taxOf(draft.tax) === null) faults.taxRatePpm = "This is no rate between 0 and 100";
  if (draft.stock.trim() && !/^\d{1,9}$/.test(draft.stock.trim())) faults.stockQuantity = "This is no number";
  for (const [locale, text] of Object.entries(draft.texts)) {
    if (!text.name.trim() && text.description.trim()) faults[`translations.${locale}.name`] = "A description needs a name";
  }
  return faults;
}

function taxOf(text: string): number | null {
  const match = /^(\d{1,3})(?:[.,](\d{1,4}))?$/.exec(text.trim());
  if (!match) return null;
  const ppm = Number(match[1]) * 10_000 + Number((match[2] ?? "").padEnd(4, "0"));
  return ppm <= 1_000_000 ? ppm : null;
}

const orUndefined = (text: string) => text.trim() || undefined;

/** The request that makes a new product of a draft without faults. */
export function creating(draft: Draft): Create {
  const prices = Object.entries(draft.prices).filter(([currency, text]) => currency !== draft.currency && text.trim());
  const texts = Object.entries(draft.texts).filter(([, text]) => text.name.trim());
  return {
    name: draft.name.trim(),
    description: orUndefined(draft.description),
    category: orUndefined(draft.category),
    sku: orUndefined(draft.sku),
    imageUrl: orUndefined(draft.imageUrl),
    priceMinor: parseMoney(draft.prices[draft.currency]!, draft.currency)!,
    currency: draft.currency,
    prices: Object.fromEntries(prices.map(([currency, text]) => [currency, parseMoney(text, currency)!])),
    translations: Object.fromEntries(texts.map(([locale, text]) => [locale, { name: text.name.trim(), description: text.description.trim() }])),
    taxRatePpm: draft.tax.trim() ? taxOf(draft.tax)! : undefined,
    stockQuantity: draft.stock.trim() ? Number(draft.stock) : undefined,
    isAvailable: draft.isAvailable,
  };
}

/** The merge patch that makes a product what its draft says: only what differs is named. */
export function changing(product: Product, draft: Draft): Change {
  const wanted = creating(draft);
  const change: Change = {};
  if (wanted.name !== product.name) change.name = wanted.name;
  if (wanted.priceMinor !== product.priceMinor) change.priceMinor = wanted.priceMinor;
  if (wanted.isAvailable !== product.isAvailable) change.isAvailable = wanted.isAvailable;
  for (const member of ["description", "category", "sku", "imageUrl"] as const) {
    if ((wanted[member] ?? "") !== (product[member] ?? "")) change[member] = wanted[member] ?? null;
  }
  for (const member of ["taxRatePpm", "stockQuantity"] as const) {
    if (wanted[member] !== product[member]) change[member] = wanted[member] ?? null;
  }
  const prices = differing(product.prices, wanted.prices!, (a, b) => a === b);
  if (prices) change.prices = prices;
  const texts = differing(product.translations, wanted.translations!, (a, b) => a.name === b.name && (a.description ?? "") === (b.description ?? ""));
  if (texts) change.translations = texts as Change["translations"];
  return change;
}

/** What is new or other, and null for what is gone; undefined when nothing is. */
function differing<Old, New>(old: Record<string, Old>, wanted: Record<string, New>, same: (a: Old, b: New) => boolean) {
  const change: Record<string, New | null> = {};
  for (const [name, value] of Object.entries(wanted)) {
    if (!(name in old) || !same(old[name]!, value)) change[name] = value;
  }
  for (const name of Object.keys(old)) {
    if (!(name in wanted)) change[name] = null;
  }
  return Object.keys(change).length > 0 ? change : undefined;
}
