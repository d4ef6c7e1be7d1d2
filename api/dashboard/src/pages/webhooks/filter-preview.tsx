import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Check, Minus } from "lucide-react";
import { useState } from "react";

import { messageAt } from "@/api/client";
import { queries } from "@/api/queries";
import { recentEvents } from "@/api/requests";
import { type FilteredEvent, orderOf } from "@/domain/events";
import { fulfillments, sources } from "@/domain/orders";
import type { EventType } from "@/domain/webhooks";
import { Button } from "@/ui/button";
import { Money, ShortTime } from "@/ui/format";
import { link } from "@/ui/link";
import { QueryState } from "@/ui/page";

type Input = { filter: string; events: EventType[] };

/**
 * Returns the preview of a filter, which is loaded on request only. A change of the filter or of the events hides it.
 * `refusal` is the message of the API for a filter that is not valid.
 */
export function useFilterPreview(filter: string, events: EventType[]) {
  const [requested, setRequested] = useState<Input | null>(null);
  const shown = requested?.filter === filter && requested.events.join() === events.join();
  const query = useQuery({ ...queries.webhooks.filterPreview(filter.trim(), events), enabled: shown });
  const show = () => (shown ? void query.refetch() : setRequested({ filter, events }));
  return {
    query: shown ? query : null,
    refusal: shown ? messageAt(query.error, "filter") : undefined,
    possible: filter.trim() !== "" && events.length > 0,
    show,
  };
}

/** A button that shows which of the newest events match the filter, and those events. */
export function FilterPreview({ preview }: { preview: ReturnType<typeof useFilterPreview> }) {
  const { query, refusal, possible, show } = preview;
  const results = query?.data;
  return (
    <div className="grid gap-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Button variant="outline" size="small" disabled={!possible} busy={query?.isFetching} onClick={show}>
          Preview
        </Button>
        <p role="status" className="text-xs text-muted-foreground">
          {results
            ? summaryOf(results)
            : `Shows which of the newest ${recentEvents} events of the selected types match the filter.`}
        </p>
      </div>
      {query && !refusal && <QueryState query={query} />}
      {results && results.length > 0 && <Results results={results} />}
    </div>
  );
}

function summaryOf(results: FilteredEvent[]): string {
  if (results.length === 0) return "No events yet: there are no stored events of the selected types.";
  const matching = results.filter(({ matches }) => matches).length;
  const failed = results.filter(({ error }) => error).length;
  const events = results.length === 1 ? "the newest event" : `the newest ${results.length} events`;
  return (
    `${matching} of ${events} ${matching === 1 ? "matches" : "match"}.` +
    (failed > 0 ? ` The filter could not be evaluated for ${failed} of them.` : "")
  );
}

const Results = ({ results }: { results: FilteredEvent[] }) => (
  <ul aria-label="Newest events" className="max-h-64 divide-y overflow-y-auto rounded-md border text-sm">
    {results.map(({ event, matches, error }) => (
      <li key={event.id} className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5 px-3 py-1.5">
        <span
          className={matches ? "w-26 whitespace-nowrap text-success" : "w-26 whitespace-nowrap text-muted-foreground"}
        >
          {matches ? (
            <Check className="mr-1 inline size-4" aria-hidden />
          ) : (
            <Minus className="mr-1 inline size-4" aria-hidden />
          )}
          {matches ? "Match" : "No match"}
        </span>
        <Link to="/webhooks/events/$id" params={{ id: event.id }} target="_blank" className={link}>
          <code className="text-xs">{event.type}</code>
        </Link>
        <span className="text-xs text-muted-foreground">
          <ShortTime at={event.timestamp} />
          <OrderSummary event={event} />
        </span>
        {error && <span className="w-full text-xs text-warning">Counts as a match: {error}</span>}
      </li>
    ))}
  </ul>
);

/** The members of an order that filters often compare. */
function OrderSummary({ event }: Pick<FilteredEvent, "event">) {
  const order = orderOf(event);
  if (!order) return null;
  return (
    <>
      {" "}
      · {fulfillments[order.fulfillmentType]} · {sources[order.source]} · {order.channel && `${order.channel} · `}
      <Money minor={order.totalMinor} currency={order.currency} />
    </>
  );
}
