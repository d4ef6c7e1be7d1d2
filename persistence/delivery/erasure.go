package delivery

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// EraseCustomerBodies erases the bodies of an erased customer's events whose deliveries have ended, at most limit,
// together with the headers and bodies of their attempts. A repeated call erases the rest, and attempts that were
// recorded after the end of their delivery.
func (q *Queue) EraseCustomerBodies(
	ctx context.Context, now time.Time, store app.StoreID, customer app.CustomerID, limit int,
) (app.ErasureStep, error) {
	var step app.ErasureStep
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		step = app.ErasureStep{}
		var ids []app.EventID
		if err := tx.NewRaw(selectErasable, store, customer, limit).Scan(ctx, &ids); err != nil {
			return err
		}
		// A separate statement sees the replays that were committed before the events were locked. No delivery has
		// ended after the last time.
		never := now.AddDate(100, 0, 0)
		if err := tx.Tx.QueryRowContext(ctx, eraseBodiesOf, ids, never).Scan(&step.Erased); err != nil {
			return err
		}
		if _, err := tx.Tx.ExecContext(ctx, eraseLateAttempts, store, customer); err != nil {
			return err
		}
		return tx.Tx.QueryRowContext(ctx, `SELECT count(*) FROM outbox
			WHERE store_id = $1 AND erasing = $2 AND body IS NOT NULL`, store, customer).Scan(&step.Waiting)
	})
	return step, err
}

// CancelErased cancels queued deliveries of a customer's events that still wait so long after the erasure of the
// customer, app.ErasureLimit, at most limit, and returns their number.
func (q *Queue) CancelErased(
	ctx context.Context, now time.Time, store app.StoreID, customer app.CustomerID, limit int,
) (int, error) {
	now = app.At(now).Time
	return q.endQueued(ctx, store, app.DeliveryCancelled, cancelErased, customer, now, app.ReasonErased,
		now.Add(-app.ErasureLimit), limit)
}

const (
	// The erased person is a customer, or the guest of a reservation.
	cancelErased = `WITH batch AS MATERIALIZED (
			SELECT d.id FROM outbox e JOIN deliveries d ON d.event_id = e.id AND d.store_id = e.store_id
			WHERE e.store_id = ?0 AND e.erasing = ?1 AND e.body IS NOT NULL AND d.status = 'queued'
				AND coalesce((SELECT erased_at FROM customers WHERE store_id = ?0 AND id = ?1),
					(SELECT erased_at FROM reservations WHERE store_id = ?0 AND id = ?1)) < ?4
			LIMIT ?5 FOR UPDATE OF d SKIP LOCKED
		)
		UPDATE deliveries d SET status = 'cancelled', reason = ?3, ended_at = ?2 FROM batch WHERE d.id = batch.id
		RETURNING d.event_id, d.event_type, d.ordered`

	selectErasable = `SELECT e.id FROM outbox e
		WHERE e.store_id = ?0 AND e.erasing = ?1 AND e.body IS NOT NULL AND ` + dispatchedEvent + `
			AND NOT EXISTS (SELECT FROM deliveries d WHERE d.event_id = e.id AND d.ended_at IS NULL)
		ORDER BY e.id LIMIT ?2 FOR UPDATE OF e`

	eraseLateAttempts = `UPDATE attempts a SET request_headers = NULL, response_headers = NULL, response_body = NULL
		FROM outbox e JOIN deliveries d ON d.event_id = e.id AND d.store_id = e.store_id
		WHERE e.store_id = $1 AND e.erasing = $2 AND e.body IS NULL AND a.store_id = $1 AND a.delivery_id = d.id
			AND (a.request_headers IS NOT NULL OR a.response_headers IS NOT NULL OR a.response_body IS NOT NULL)`
)
