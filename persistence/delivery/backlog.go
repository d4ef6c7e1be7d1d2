package delivery

import (
	"context"
	_ "embed" // for the statement
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// backlogStatement reads the backlog. The file documents its parameters.
//
//go:embed queries/backlog.sql
var backlogStatement string

// Backlog returns the size and the age of the unfinished work of all stores. Its cost is bounded:
// counts stop at app.BacklogLimit, and it reads at most Policy.BacklogSubscriptions subscriptions with
// queued deliveries.
func (q *Queue) Backlog(ctx context.Context, now time.Time) (app.Backlog, error) {
	var b app.Backlog
	err := q.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.ExecContext(ctx, alongIndexes); err != nil {
			return err
		}
		return tx.Tx.QueryRowContext(ctx, backlogStatement, now, app.BacklogLimit, q.policy.BacklogSubscriptions,
			app.PlanWindow(now, q.planWindow), planNames, planLimits, replayShare, kindShare).
			Scan(&b.OldestEvent, &b.OldestDue, &b.Queued, &b.Pending, &b.Retrying, &b.DeadLetters, &b.Jobs)
	})
	return b, err
}
