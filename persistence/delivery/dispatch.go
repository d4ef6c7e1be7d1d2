package delivery

import (
	"context"
	_ "embed"
	"time"

	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

//go:embed queries/dispatch.sql
var dispatchStatement string

// Dispatch turns the oldest undispatched events, at most limit, into queued deliveries: one for each
// active subscription that selects the event's type. Concurrent relays dispatch the events of different
// stores. An event stays undispatched if its relay dies. Plans do not apply here: [Queue.Claim] enforces
// them. Each event gets the next position of its store; a transaction that sees a position sees all lower ones too.
func (q *Queue) Dispatch(ctx context.Context, now time.Time, limit int) (app.Dispatched, error) {
	var d app.Dispatched
	var stores []app.StoreID
	err := q.dispatch.System().DB.QueryRowContext(ctx, dispatchStatement, limit, app.At(now).Time).
		Scan(&d.Events, &d.Deliveries, &d.More, pgdialect.Array(&stores))
	if err == nil {
		q.events.Add(stores...)
	}
	return d, pg.Classify(err)
}
