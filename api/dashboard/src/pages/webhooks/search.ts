import { type AttemptStatus, type Span, spans } from "@/domain/webhooks";
import { oneOf } from "@/ui/search-params";

import { attemptStatuses } from "./names";

/** The search parameters of a webhook's page. `from` and `to` are instants. */
export type WebhookSearch = {
  span?: Span;
  status?: AttemptStatus;
  eventType?: string;
  eventId?: string;
  from?: string;
  to?: string;
  page?: number;
  attempt?: string;
};

/** Returns a parameter that is a non-empty text. Unlike textOf it drops numbers: ids and instants are never numbers. */
const stringOf = (search: Record<string, unknown>, name: string) => {
  const value = search[name];
  return typeof value === "string" && value !== "" ? value : undefined;
};

const instantOf = (search: Record<string, unknown>, name: string) => {
  const value = stringOf(search, name);
  return Number.isNaN(Date.parse(value ?? "")) ? undefined : value;
};

export function webhookSearch(search: Record<string, unknown>): WebhookSearch {
  const page = Number(search.page);
  return {
    span: oneOf<Span>(search, "span", spans),
    status: oneOf<AttemptStatus>(search, "status", attemptStatuses),
    eventType: stringOf(search, "eventType"),
    eventId: stringOf(search, "eventId"),
    from: instantOf(search, "from"),
    to: instantOf(search, "to"),
    page: Number.isInteger(page) && page > 1 && page <= 1_000_000 ? page : undefined,
    attempt: stringOf(search, "attempt"),
  };
}

/** The search parameters of the dead letters page. */
export type DeadLettersSearch = { webhookId?: string; reason?: string };

export const deadLettersSearch = (search: Record<string, unknown>): DeadLettersSearch => ({
  webhookId: stringOf(search, "webhookId"),
  reason: stringOf(search, "reason"),
});

/** The search parameters of the events page. */
export type EventsSearch = { type?: string };

export const eventsSearch = (search: Record<string, unknown>): EventsSearch => ({ type: stringOf(search, "type") });
