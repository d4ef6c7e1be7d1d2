import { type Day, dayName } from "@/domain/opening-hours";
import { type FulfillmentType, fulfillments } from "@/domain/orders";

import { pointWorth } from "./change";

const labels: Record<string, string> = {
  timezone: "Time zone",
  businessDayCutoffHour: "Start of the business day",
  taxRatePpm: "Tax rate in percent",
  taxIncluded: "Prices include tax",
  taxDeliveryFee: "Tax the delivery fee",
  seats: "Seats",
  reservationMinutes: "Default duration in minutes",
  bookingLeadMinutes: "Minimum notice in minutes",
  bookingMaxDays: "Maximum days ahead",
  orderLeadMinutes: "Minimum notice of orders for later, in minutes",
  orderMaxDays: "Maximum days ahead for orders",
  "acceptance.remindAfterMinutes": "Remind after minutes",
  "acceptance.cancelAfterMinutes": "Cancel after minutes",
  requireOtp: "Logins of the team",
  closures: "Closures",
  "loyalty.minPoints": "Least number of points for one order",
  lowerTotals: "Lower the total of an accepted order",
  "staffMay.SELL_OUT": "Mark products as sold out",
  "staffMay.FIND_CUSTOMERS": "Find customers by phone number",
};

/** Returns the label of a field, with the weekday in a locale. */
export function labelOf(name: string, locale = "en"): string {
  const [group, of, day] = name.split(".");
  if (name.startsWith(pointWorth)) return `Worth of a point in ${day}`;
  if (group === "deliveryFees") return `Fee in ${of}`;
  if (group === "prepMinutes") return `Minutes to prepare, ${fulfillments[of as FulfillmentType].toLowerCase()}`;
  if (group === "openingHours")
    return `Hours for ${fulfillments[of as FulfillmentType].toLowerCase()}, ${dayName(day as Day, locale)}`;
  return labels[name] ?? name;
}
