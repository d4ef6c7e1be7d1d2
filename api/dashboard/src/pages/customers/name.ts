import type { components } from "@/api/schema";

export type Customer = components["schemas"]["Customer"];

/** How a customer is called, by whatever is known. */
export const nameOf = (customer: Pick<Customer, "firstName" | "lastName" | "email" | "phone">) =>
  `${customer.firstName} ${customer.lastName}`.trim() || customer.email || customer.phone || "Unnamed";
