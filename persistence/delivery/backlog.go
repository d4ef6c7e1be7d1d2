package delivery

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// backlogStatement reads partial indexes of what waits, and no more of them than its limits
// say. Subscriptions are found by jumping from one to the next.
const backlogStatement = `
	WITH RECURSIVE queueing (subscription_id) AS (
		(SELECT subscription_id FROM deliveries WHERE status = 'queued' ORDER BY subscription_id LIMIT 1)
		UNION ALL
		SELECT (SELECT d.subscription_id FROM deliveries d
			WHERE d.status = 'queued' AND d.subscription_id > q.subscription_id ORDER BY d.subscription_id LIMIT 1)
		FROM queueing q WHERE q.subscription_id IS NOT NULL
	), strayed (subscription_id) AS (
		(SELECT subscription_id FROM deliveries WHERE status IN ('retrying', 'dead_letter') ORDER BY subscription_id LIMIT 1)
		UNION ALL
		SELECT (SELECT d.subscription_id FROM deliveries d
			WHERE d.status IN ('retrying', 'dead_letter') AND d.subscription_id > s.subscription_id ORDER BY d.subscription_id LIMIT 1)
		FROM strayed s WHERE s.subscription_id IS NOT NULL
	)
	SELECT
		(SELECT occurred_at FROM outbox WHERE dispatched_at IS NULL ORDER BY id LIMIT 1),
		(SELECT min(due.scheduled_for) FROM (SELECT subscription_id FROM queueing LIMIT $3) q, LATERAL (
			SELECT d.scheduled_for FROM deliveries d
			WHERE d.subscription_id = q.subscription_id AND d.status = 'queued' AND d.scheduled_for <= $1 ORDER BY d.scheduled_for LIMIT 1) due),
		(SELECT count(*) FROM (SELECT FROM deliveries WHERE status = 'queued' LIMIT $2) d),
		(SELECT count(*) FROM (SELECT FROM deliveries WHERE status = 'pending' LIMIT $2) d),
		(SELECT count(*) FROM (SELECT FROM (SELECT subscription_id FROM strayed LIMIT $3) s, LATERAL (
			SELECT FROM deliveries d WHERE d.subscription_id = s.subscription_id AND d.status = 'retrying' LIMIT $2) d LIMIT $2) d),
		(SELECT count(*) FROM (SELECT FROM (SELECT subscription_id FROM strayed LIMIT $3) s, LATERAL (
			SELECT FROM deliveries d WHERE d.subscription_id = s.subscription_id AND d.status = 'dead_letter' LIMIT $2) d LIMIT $2) d),
		(SELECT count(*) FROM (SELECT FROM jobs ORDER BY lease_until LIMIT $2) j)`

// Backlog tells what waits, in all stores together. Its cost is bounded: counts end at
// app.BacklogLimit, and of more than Policy.BacklogSubscriptions subscriptions with waiting
// deliveries only so many are visited.
func (q *Queue) Backlog(ctx context.Context, now time.Time) (app.Backlog, error) {
	var b app.Backlog
	err := pg.RunTx(ctx, q.pg.System(), func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.ExecContext(ctx, alongIndexes); err != nil {
			return err
		}
		return tx.Tx.QueryRowContext(ctx, backlogStatement, now, app.BacklogLimit, q.policy.BacklogSubscriptions).
			Scan(&b.OldestEvent, &b.OldestDue, &b.Queued, &b.Pending, &b.Retrying, &b.DeadLetters, &b.Jobs)
	})
	return b, err
}
