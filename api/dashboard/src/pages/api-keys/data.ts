import type { components } from "@comanda/client";

export type APIKey = components["schemas"]["APIKey"];

/** The query key shared by all queries about API keys. */
export const keysKey = ["api-keys"];
