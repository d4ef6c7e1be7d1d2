import { days } from "@/domain/opening-hours";
import { fulfillmentTypes } from "@/domain/orders";

/** The parts of a store that the set-up needs. A part is undefined if the user's role cannot read it. */
export type Parts = {
  views: number;
  /** Spans of opening hours. */
  openSpans: number;
  products: number;
  taxRatePpm: number;
  /** Products that have their own tax rate, among the first of the menu. */
  taxedProducts: number;
  /** Whether the user has confirmed on this device that the store charges no tax. */
  noTax: boolean;
  /** Users and pending invitations. */
  users: number | undefined;
  webhooks: number;
  apiKeys: number | undefined;
  orders: number;
};

/** The steps whose empty value may be intended, which the user then confirms. */
export type Confirmable = "hours" | "tax";

/** Opening hours around the clock. They distinguish a store that is always open from one without hours yet. */
export const alwaysOpen = Object.fromEntries(
  fulfillmentTypes.map((type) => [
    type,
    Object.fromEntries(days.map((day) => [day, [{ from: "00:00", to: "24:00" }]])),
  ]),
);

export type Step = {
  title: string;
  about: string;
  done: boolean;
  /** The label of the link. */
  label: string;
  to: "/store" | "/settings" | "/products" | "/team" | "/webhooks" | "/orders/new";
  /** The confirmation that the empty value is intended. */
  confirm?: { of: Confirmable; label: string; note?: string };
};

/** Returns the steps that set up a store, in their order. */
export function stepsOf(parts: Parts): Step[] {
  const steps: (Step | false)[] = [
    {
      title: "Name and views",
      about: "The name of the store, and the languages and currencies in which it sells.",
      done: parts.views > 0,
      label: "Edit the store",
      to: "/store",
    },
    {
      title: "Opening hours",
      about: "Without opening hours, the store accepts orders at any time.",
      done: parts.openSpans > 0,
      label: "Set the opening hours",
      to: "/settings",
      confirm: { of: "hours", label: "The store is always open" },
    },
    {
      title: "Menu",
      about: "Customers can order products that have a price in the currency of their view.",
      done: parts.products > 0,
      label: "Add products",
      to: "/products",
    },
    {
      title: "Tax",
      about: "The tax rate of products without their own rate. Orders state their tax.",
      done: parts.taxRatePpm > 0 || parts.taxedProducts > 0 || parts.noTax,
      label: "Set the tax rate",
      to: "/settings",
      confirm: { of: "tax", label: "The store charges no tax", note: "Remembered on this device only." },
    },
    parts.users !== undefined && {
      title: "Team",
      about: "A login for each user, so that the audit trail names them.",
      done: parts.users > 1,
      label: "Invite users",
      to: "/team",
    },
    {
      title: "Webhook or API key",
      about: "Connects your shop, your till or your kitchen printer.",
      done: parts.webhooks > 0 || (parts.apiKeys ?? 0) > 0,
      label: "Create a webhook",
      to: "/webhooks",
    },
    {
      title: "Test order",
      about: "Place an order, move it through the board, then cancel it.",
      done: parts.orders > 0,
      label: "Place an order",
      to: "/orders/new",
    },
  ];
  return steps.filter((step) => step !== false);
}
