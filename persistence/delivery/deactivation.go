package delivery

import (
	"context"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
)

// EndQueued ends queued deliveries of an inactive subscription as dead letters, at most limit, and returns their
// number. It ends none while the subscription is active. Nothing is counted for the plan, because none has started.
func (q *Queue) EndQueued(ctx context.Context, now time.Time, store app.StoreID, id app.SubscriptionID,
	limit int,
) (int, error) {
	return q.endQueued(ctx, store, app.DeliveryDeadLetter, endQueuedToInactive, id, app.At(now).Time,
		app.ReasonInactive, limit)
}

// endQueuedToInactive locks the subscription, so that it stays inactive until the batch is committed.
const endQueuedToInactive = `WITH inactive AS MATERIALIZED (
		SELECT id FROM subscriptions
		WHERE store_id = ?0 AND id = ?1 AND NOT is_active AND deleted_at IS NULL FOR SHARE
	), batch AS MATERIALIZED (
		SELECT id FROM deliveries
		WHERE store_id = ?0 AND subscription_id = (SELECT id FROM inactive) AND status = 'queued'
		ORDER BY event_type, id LIMIT ?4 FOR UPDATE SKIP LOCKED
	)
	UPDATE deliveries d SET status = 'dead_letter', reason = ?3, ended_at = ?2 FROM batch WHERE d.id = batch.id
	RETURNING d.event_id, d.event_type, d.ordered`

// endReplaysToInactive enqueues the job that ends the queued deliveries of each of these subscriptions that is
// inactive.
func endReplaysToInactive(ctx context.Context, tx bun.Tx, now time.Time, subscriptions []app.SubscriptionID) error {
	_, err := tx.NewRaw(`INSERT INTO jobs (id, store_id, queue, kind, subject, urgent, created_at, lease_until)
		SELECT 'job_' || uuidv7_hex(?0, row_number() OVER ()), s.store_id, store_queue(s.store_id), ?1, s.id, ?3, ?0, ?0
		FROM subscriptions s
		WHERE s.id = ANY (?2::text[]) AND NOT s.is_active AND s.deleted_at IS NULL
			AND NOT EXISTS (SELECT FROM jobs j WHERE j.kind = ?1 AND j.subject = s.id)`,
		app.At(now).Time, app.JobDeactivation, pgdialect.Array(subscriptions), app.JobDeactivation.Urgent()).Exec(ctx)
	return err
}
