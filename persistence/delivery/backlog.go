package delivery

import (
	"context"
	"database/sql"
	_ "embed"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery/schedule"
)

var (
	//go:embed queries/backlog.sql
	backlogStatement string
	//go:embed queries/due.sql
	dueStatement string
)

// Backlog returns the size and the age of the unfinished work of all stores. Its cost is bounded:
// counts stop at app.BacklogLimit, and it reads at most Policy.BacklogSubscriptions subscriptions with
// queued deliveries.
func (q *Queue) Backlog(ctx context.Context, now time.Time) (app.Backlog, error) {
	var b app.Backlog
	err := q.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.ExecContext(ctx, alongIndexes); err != nil {
			return err
		}
		err := tx.Tx.QueryRowContext(ctx, backlogStatement, app.BacklogLimit, q.policy.BacklogSubscriptions).
			Scan(&b.OldestEvent, &b.OldestHeld, &b.Queued, &b.Held, &b.Pending, &b.Retrying, &b.DeadLetters, &b.Jobs)
		if err != nil {
			return err
		}
		b.OldestDue, err = q.oldestDue(ctx, tx, now)
		return err
	})
	return b, err
}

// oldestDue returns the time since which the oldest queued delivery may start, or nil if none may start. A delivery
// that its plan delays until the next window is not due.
func (q *Queue) oldestDue(ctx context.Context, tx bun.Tx, now time.Time) (oldest *time.Time, err error) {
	start := app.PlanWindow(now, q.planWindow)
	rows, err := tx.Tx.QueryContext(ctx, dueStatement, now, q.policy.BacklogSubscriptions, start, limitsByPlan)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		window := schedule.Window{Start: start}
		var limit sql.NullInt64
		var class schedule.Class
		var due time.Time
		if err := rows.Scan(&limit, &window.Started, &window.Replays, &class, &due); err != nil {
			return nil, err
		}
		window.Limit = int(limit.Int64)
		if !window.Starts(class) {
			continue
		}
		if due = window.Since(due); oldest == nil || due.Before(*oldest) {
			oldest = &due
		}
	}
	return oldest, rows.Err()
}
