import type { components } from "@comanda/client";

export type Website = components["schemas"]["Website"];
export type WebsiteDetails = components["schemas"]["WebsiteDetails"];
