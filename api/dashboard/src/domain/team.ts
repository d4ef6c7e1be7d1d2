import type { components } from "@comanda/client";

export type Member = components["schemas"]["Member"];
export type Invitation = components["schemas"]["Invitation"];

/** The query key shared by all queries about users. */
export const usersKey = ["users"];

/** The query key shared by all queries about invitations. */
export const invitationsKey = ["invitations"];
