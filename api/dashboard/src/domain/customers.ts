import type { components } from "@comanda/client";

export type Customer = components["schemas"]["Customer"];

export const kinds = { registered: "Registered", guest: "Guest" } as const;

/** The name of a customer whose personal data was erased. */
export const erasedName = "Erased customer";

/** Returns the display name of the guest of an order. An order without a guest has neither a name nor a customer. */
export const orderedBy = ({ customer }: { customer: { id: string | null; name: string } }) =>
  customer.name || (customer.id ? erasedName : "Walk-in");

type Profile = Pick<Customer, "firstName" | "lastName" | "email" | "phone">;

/** Reports whether a customer was erased. Others have a name, because the API requires it. */
export const isErased = ({ firstName, lastName, email, phone }: Profile) => !(firstName || lastName || email || phone);

/** Returns the display name of a customer: the name, otherwise the email or the phone number. */
export const nameOf = (customer: Profile) =>
  `${customer.firstName} ${customer.lastName}`.trim() || customer.email || customer.phone || erasedName;
