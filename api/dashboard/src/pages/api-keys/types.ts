import type { components } from "@comanda/client";

export type APIKey = components["schemas"]["APIKey"];
