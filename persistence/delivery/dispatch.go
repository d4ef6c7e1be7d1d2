package delivery

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"time"

	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

//go:embed queries/dispatch.sql
var dispatchStatement string

// Dispatch turns the oldest undispatched events of the next stores in turn into queued deliveries: one for each active
// subscription that selects the event's type. Websites take turns, and so do the stores of a website. The statement
// writes about limit events and deliveries, at most twice as many and one event: it divides limit among the websites,
// and each store takes at least one event as a whole. Concurrent relays dispatch the events of different stores. An
// event stays undispatched if its relay dies. Plans do not apply here: [Queue.Claim] enforces them. Each event gets the
// next position of its store; a transaction that sees a position sees all lower ones too. Events of subscriptions
// with a filter are evaluated in the background first, and a later call dispatches them. An error of the filters is
// returned together with the dispatched events.
func (q *Queue) Dispatch(ctx context.Context, now time.Time, limit int) (app.Dispatched, error) {
	var d app.Dispatched
	var stores []app.StoreID
	var last sql.NullString
	var next dispatchTurn
	turn := q.dispatches.current()
	ready, moreReady := q.filters.ready(now, turn.queue, limit)
	known := decisionsAsColumns(ready)
	var queues []string
	var open decisionColumns
	err := q.dispatch.System().DB.QueryRowContext(ctx, dispatchStatement, limit, app.At(now).Time, turn.queue,
		q.policy.DispatchQueues, q.policy.DispatchStores, turn.queues, turn.stores,
		known.events, known.subscriptions, known.versions, known.matches).
		Scan(&d.Events, &d.Deliveries, &d.More, pgdialect.Array(&stores), &last, pgdialect.Array(&next.queues),
			pgdialect.Array(&next.stores), pgdialect.Array(&queues), pgdialect.Array(&open.events),
			pgdialect.Array(&open.subscriptions), pgdialect.Array(&open.versions))
	if err != nil {
		return d, pg.Classify(err)
	}
	if last.Valid {
		next.queue = last.String
		q.dispatches.advance(next)
	}
	d.More = d.More || moreReady
	q.events.Add(stores...)
	return d, errors.Join(q.startFilters(ctx, now, queues, open.decisions()), q.saveFilterErrors(ctx))
}
