package delivery

import (
	"context"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
)

// missedFilter is the filter of the subscription of a bulk replay of missed events. Like that of new events, it is
// evaluated outside of the transactions.
type missedFilter struct {
	decided   []decision    // before the transaction
	undecided *missedEvents // by the transaction, which has used none of decided; nil = none
}

// missedEvents are the next missed events of a bulk replay whose filter is not decided.
type missedEvents struct {
	queue  string
	filter expression
	events []filteredEvent
}

// matching returns the events that match the present filter of the subscription, and the number of events that are
// decided: all without a filter. The first undecided event ends both.
func (f *missedFilter) matching(ctx context.Context, tx bun.Tx, row replayRow, events []app.EventID) (
	matching []app.EventID, decided int, err error,
) {
	var of struct {
		Version int64
		Filter  *string
		Queue   string
	}
	err = tx.NewRaw(`SELECT s.version, s.filter, queue_of(store) AS queue
		FROM subscriptions s JOIN stores store ON store.id = s.store_id WHERE s.store_id = ? AND s.id = ?`,
		row.StoreID, row.SubscriptionID).Scan(ctx, &of)
	if err != nil || of.Filter == nil || len(events) == 0 {
		return events, len(events), err
	}
	matches := map[app.EventID]bool{}
	for _, d := range f.decided {
		if d.Version == of.Version {
			matches[d.Event] = d.Matches
		}
	}
	for _, id := range events {
		match, known := matches[id]
		if !known {
			break
		}
		if decided++; match {
			matching = append(matching, id)
		}
	}
	if f.decided == nil {
		f.undecided = &missedEvents{
			queue: of.Queue, filter: expression{row.SubscriptionID, of.Version, *of.Filter},
		}
		f.undecided.events, err = loadMissed(ctx, tx, row, of.Version, events)
	}
	return matching, decided, err
}

// loadMissed loads the first of some missed events: at least one, and at most filterBytes.
func loadMissed(ctx context.Context, tx bun.Tx, row replayRow, version int64, events []app.EventID) (
	loaded []filteredEvent, err error,
) {
	var rows []struct {
		ID   app.EventID
		Type string
		Body *string
	}
	err = tx.NewRaw(`SELECT id, coalesce(type, '') AS type, body FROM (
			SELECT w.id, e.type, e.body, w.n, sum(octet_length(coalesce(e.body, ''))) OVER (ORDER BY w.n) AS bytes
			FROM unnest(?1::text[]) WITH ORDINALITY AS w (id, n)
				LEFT JOIN outbox e ON e.id = w.id AND e.store_id = ?0) sized
		WHERE n = 1 OR bytes <= ?2 ORDER BY n`,
		row.StoreID, pgdialect.Array(events), filterBytes).Scan(ctx, &rows)
	for _, e := range rows {
		pair := decision{Event: e.ID, Subscription: row.SubscriptionID, Version: version}
		event := filteredEvent{Type: e.Type, Pairs: []decision{pair}}
		if e.Body != nil {
			event.Body = []byte(*e.Body)
		}
		loaded = append(loaded, event)
	}
	return loaded, err
}

// missedTurnWait is the time after which a step of a bulk replay without a turn leaves its place among the jobs.
const missedTurnWait = time.Second

// decide evaluates the filter for missed events, in the turns of their queue, until a batch ends. It returns fewer
// decisions, or none, if it gets no turn within missedTurnWait, and the error of ctx if ctx ends before.
func (f *filters) decide(ctx context.Context, now time.Time, missed *missedEvents) ([]decision, error) {
	waiting, cancel := context.WithTimeout(ctx, missedTurnWait)
	defer cancel()
	run := filterRun{
		filters: f, ctx: ctx, waiting: waiting, now: now, queue: missed.queue,
		expressions: map[app.SubscriptionID]expression{missed.filter.ID: missed.filter},
	}
	defer run.end()
	made, _ := run.batch(missed.events)
	return made, ctx.Err()
}
