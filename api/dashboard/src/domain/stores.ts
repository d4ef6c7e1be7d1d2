import type { components } from "@comanda/client";

export type Store = components["schemas"]["Store"];
export type StoreView = components["schemas"]["StoreView"];
export type NewStore = components["schemas"]["AddStoreRequest"];
