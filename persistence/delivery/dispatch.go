package delivery

import (
	"context"
	_ "embed"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

//go:embed queries/dispatch.sql
var dispatchStatement string

// Dispatch turns the oldest waiting events, at most limit of them, into queued deliveries: one for each active
// subscription that selects the event's type. Concurrent relays never take the same event, and a relay that dies took
// none. Plans play no part here: [Queue.Claim] enforces them.
func (q *Queue) Dispatch(ctx context.Context, now time.Time, limit int) (app.Dispatched, error) {
	var d app.Dispatched
	err := q.pg.System().DB.QueryRowContext(ctx, dispatchStatement, limit, app.At(now).Time).Scan(&d.Events, &d.Deliveries)
	return d, pg.Classify(err)
}
