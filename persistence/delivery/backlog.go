package delivery

import (
	"context"
	_ "embed" // for the statement
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// backlogStatement reads the backlog. The file explains its parameters.
//
//go:embed queries/backlog.sql
var backlogStatement string

// Backlog returns the size and the age of the waiting work of all stores. Its cost is bounded: counts
// end at app.BacklogLimit, and at most Policy.BacklogSubscriptions subscriptions with waiting
// deliveries are visited.
func (q *Queue) Backlog(ctx context.Context, now time.Time) (app.Backlog, error) {
	var b app.Backlog
	err := pg.RunTx(ctx, q.pg.System(), func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.ExecContext(ctx, alongIndexes); err != nil {
			return err
		}
		return tx.Tx.QueryRowContext(ctx, backlogStatement, now, app.BacklogLimit, q.policy.BacklogSubscriptions,
			app.PlanWindow(now, q.planWindow), planNames, planLimits).
			Scan(&b.OldestEvent, &b.OldestDue, &b.Queued, &b.Pending, &b.Retrying, &b.DeadLetters, &b.Jobs)
	})
	return b, err
}
