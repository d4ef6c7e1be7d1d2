import type { components } from "@comanda/client";

export type Plan = components["schemas"]["Billing"]["plan"];

/** The plans in ascending order of their limits. */
export const plans: Plan[] = ["STARTER", "GROW", "PROFESSIONAL", "ENTERPRISE"];

/** Returns the display name of a plan. */
export const planName = (plan: Plan) => plan.charAt(0) + plan.slice(1).toLowerCase();

/** Who may change the plan of a website. */
export const planManagers: Record<components["schemas"]["Website"]["planManagedBy"], string> = {
  OWNER: "Owners and platform administrators",
  PLATFORM: "Platform administrators only",
};
