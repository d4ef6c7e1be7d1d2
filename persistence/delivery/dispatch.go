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
//
// If another transaction holds a lock for longer than the limit of the pool, websites are dispatched apart, until none
// is locked, so that the others do not wait. The error is returned together with the events of the others.
func (q *Queue) Dispatch(ctx context.Context, now time.Time, limit int) (app.Dispatched, error) {
	if !q.dispatches.isLocked() {
		d, err := q.dispatchNext(ctx, now, limit, q.policy.DispatchQueues)
		if !pg.IsLocked(err) {
			return d, err
		}
	}
	d, err := q.dispatchApart(ctx, now, limit)
	q.dispatches.setLocked(pg.IsLocked(err))
	return d, err
}

// dispatchApart dispatches the events of the next queues with one statement each, and skips those that are locked.
func (q *Queue) dispatchApart(ctx context.Context, now time.Time, limit int) (all app.Dispatched, err error) {
	visited := map[string]bool{"": true}
	for range q.policy.DispatchQueues {
		queue, failed := q.nextDispatch(ctx)
		if failed != nil || visited[queue] {
			return all, errors.Join(err, failed)
		}
		visited[queue] = true
		d, failed := q.dispatchNext(ctx, now, limit, 1)
		err = errors.Join(err, failed)
		all = app.Dispatched{Events: all.Events + d.Events, Deliveries: all.Deliveries + d.Deliveries, More: true}
		switch {
		case pg.IsLocked(failed):
			q.dispatches.advance(dispatchTurn{queue: queue})
		case failed != nil || all.Events+all.Deliveries >= limit:
			return all, err
		}
	}
	return all, err
}

// nextDispatch returns the queue at which the next dispatch begins, or "".
func (q *Queue) nextDispatch(ctx context.Context) (queue string, err error) {
	err = q.dispatch.System().DB.QueryRowContext(ctx, `SELECT coalesce(
			(SELECT queue FROM undispatched WHERE queue > $1 ORDER BY queue LIMIT 1),
			(SELECT queue FROM undispatched ORDER BY queue LIMIT 1), '')`, q.dispatches.current().queue).Scan(&queue)
	return queue, pg.Classify(err)
}

// dispatchNext dispatches events of the next queues in turn, at most the given number.
func (q *Queue) dispatchNext(ctx context.Context, now time.Time, limit, most int) (app.Dispatched, error) {
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
		most, q.policy.DispatchStores, turn.queues, turn.stores,
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
