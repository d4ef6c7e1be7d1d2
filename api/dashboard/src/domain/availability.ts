import type { Product } from "./products";
import { addDays, businessDay, instantOf } from "./zone";

/** Whether customers can order a product, and if not, why. */
export type Availability = "available" | "unavailable" | "soldOut" | "outOfStock";

/** Returns the state of a product at a time (epoch milliseconds). */
export function availabilityOf(
  product: Pick<Product, "isAvailable" | "soldOutUntil" | "stockQuantity">,
  now: number,
): Availability {
  if (!product.isAvailable) return "unavailable";
  if (product.soldOutUntil && Date.parse(product.soldOutUntil) > now) return "soldOut";
  return product.stockQuantity === 0 ? "outOfStock" : "available";
}

/** Returns the end of the current business day of a store. */
export const endOfBusinessDay = (now: number, timezone: string, cutoffHour: number) =>
  instantOf(addDays(businessDay(now, timezone, cutoffHour), 1), `${String(cutoffHour).padStart(2, "0")}:00`, timezone);

/** Returns the instant of a local date and time (YYYY-MM-DDTHH:MM) in a zone, or undefined if the text is none. */
export function instantOfLocal(text: string, timezone: string): string | undefined {
  const [day, time] = text.split("T");
  return day && time ? instantOf(day, time, timezone) : undefined;
}

/** Returns the local date and time of an instant (epoch milliseconds) in a zone, to the minute. */
export const localOf = (at: number, timezone: string) =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timezone).toPlainDateTime().toString().slice(0, 16);
