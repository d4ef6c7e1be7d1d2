package delivery

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// EraseCustomerBodies reads the next events of an erased customer after the given one, at most limit. It erases the
// bodies of those whose deliveries have ended, together with the headers and bodies of their attempts, also of attempts
// that were recorded after their event was erased.
func (q *Queue) EraseCustomerBodies(ctx context.Context, now time.Time, store app.StoreID, customer app.CustomerID,
	after app.EventID, limit int,
) (app.ErasureStep, error) {
	var step app.ErasureStep
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		step = app.ErasureStep{}
		var read []struct {
			ID            app.EventID
			Erased, Ready bool
		}
		if err := tx.NewRaw(selectErasing, store, customer, after, limit).Scan(ctx, &read); err != nil {
			return err
		}
		var ready, erased []app.EventID
		for _, event := range read {
			switch {
			case event.Ready:
				ready = append(ready, event.ID)
			case event.Erased:
				erased = append(erased, event.ID)
			}
		}
		// A separate statement sees the replays that were committed before the events were locked. No delivery has
		// ended after the last time.
		never := now.AddDate(100, 0, 0)
		if err := tx.Tx.QueryRowContext(ctx, eraseBodiesOf, ready, never).Scan(&step.Erased); err != nil {
			return err
		}
		step.Waiting = int64(len(read)-len(erased)) - step.Erased
		if len(read) == limit {
			step.Last = read[limit-1].ID
		}
		_, err := tx.Tx.ExecContext(ctx, eraseLateAttempts, store, erased)
		return err
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

	selectErasing = `SELECT e.id, e.body IS NULL AS erased, e.body IS NOT NULL AND ` + dispatchedEvent + ` AS ready
		FROM outbox e WHERE e.store_id = ?0 AND e.erasing = ?1 AND e.id > ?2
		ORDER BY e.erasing, e.id LIMIT ?3 FOR UPDATE OF e`

	eraseLateAttempts = `UPDATE attempts a SET request_headers = NULL, response_headers = NULL, response_body = NULL
		FROM deliveries d
		WHERE d.store_id = $1 AND d.event_id = ANY ($2) AND a.store_id = $1 AND a.delivery_id = d.id
			AND (a.request_headers IS NOT NULL OR a.response_headers IS NOT NULL OR a.response_body IS NOT NULL)`
)
