import { type AttemptStatus, type Span, spans } from "./data";
import { attemptStatuses } from "./names";

/** What the page of a webhook shows, as its address says. */
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

/** Reads such an address. What makes no sense is left out. */
export function webhookSearch(search: Record<string, unknown>): WebhookSearch {
  const text = (name: string) => (typeof search[name] === "string" && search[name] !== "" ? (search[name] as string) : undefined);
  const time = (name: string) => (Number.isNaN(Date.parse(text(name) ?? "")) ? undefined : text(name));
  const known = <T extends string>(name: string, of: Record<T, unknown>) => {
    const value = text(name);
    return value !== undefined && Object.hasOwn(of, value) ? (value as T) : undefined;
  };
  const page = Number(search.page);
  return {
    span: known("span", spans),
    status: known("status", attemptStatuses),
    eventType: text("eventType"),
    eventId: text("eventId"),
    from: time("from"),
    to: time("to"),
    page: Number.isInteger(page) && page > 1 && page <= 1_000_000 ? page : undefined,
    attempt: text("attempt"),
  };
}

/** What the page of dead letters shows: all of them, or those of one receiver, for one reason. */
export type DeadLettersSearch = { webhookId?: string; reason?: string };

export function deadLettersSearch(search: Record<string, unknown>): DeadLettersSearch {
  const text = (name: string) => (typeof search[name] === "string" && search[name] !== "" ? (search[name] as string) : undefined);
  return { webhookId: text("webhookId"), reason: text("reason") };
}
