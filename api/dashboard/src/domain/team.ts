import type { components } from "@comanda/client";

export type Member = components["schemas"]["Member"];
export type Invitation = components["schemas"]["Invitation"];
