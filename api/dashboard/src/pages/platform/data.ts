import type { components } from "@comanda/client";

export type Website = components["schemas"]["Website"];
export type WebsiteDetails = components["schemas"]["WebsiteDetails"];

/** The query key shared by all queries about websites. */
export const websitesKey = ["platform", "websites"];
