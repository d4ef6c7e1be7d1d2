package delivery

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// CancelQueued cancels queued deliveries of a deleted subscription that never had a workflow, at most limit, and
// returns their number. It cancels none if the subscription is not deleted: a restored database can lack the deletion.
func (q *Queue) CancelQueued(ctx context.Context, now time.Time, store app.StoreID, id app.SubscriptionID,
	limit int,
) (int, error) {
	return q.endQueued(ctx, store, app.DeliveryCancelled, cancelQueued, id, app.At(now).Time, app.ReasonDeleted, limit)
}

// endQueued runs a statement that ends queued deliveries of a store with the given status, and returns their number.
// The store is the first argument of the statement; args are the others.
func (q *Queue) endQueued(ctx context.Context, store app.StoreID, status app.DeliveryStatus, statement string,
	args ...any,
) (int, error) {
	var rows []struct {
		EventID   app.EventID
		EventType app.EventType
		Ordered   bool
	}
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		rows = nil
		return tx.NewRaw(statement, append([]any{store}, args...)...).Scan(ctx, &rows)
	})
	if err == nil && len(rows) > 0 {
		q.ended(status, len(rows))
		for _, d := range rows {
			if d.Ordered {
				q.turnPassed()
			}
			q.notifyOrders(changedEvent{d.EventID, store, d.EventType})
		}
	}
	return len(rows), err
}

// isDeleted is the condition of teardowns.
const isDeleted = `(SELECT deleted_at IS NOT NULL FROM subscriptions WHERE store_id = ?0 AND id = ?1)`

const cancelQueued = `WITH batch AS MATERIALIZED (
		SELECT id FROM deliveries WHERE store_id = ?0 AND subscription_id = ?1 AND status = 'queued' AND replays = 0
			AND ` + isDeleted + `
		ORDER BY event_type, id LIMIT ?4 FOR UPDATE SKIP LOCKED
	)
	UPDATE deliveries d SET status = 'cancelled', reason = ?3, ended_at = ?2 FROM batch WHERE d.id = batch.id
	RETURNING d.event_id, d.event_type, d.ordered`

// OpenDeliveries returns deliveries of a deleted subscription that may have an open workflow, at most limit, in the
// order of their ids. The zero value of after is the start. It returns none if the subscription is not deleted.
func (q *Queue) OpenDeliveries(ctx context.Context, store app.StoreID, id app.SubscriptionID, after app.DeliveryID,
	limit int,
) ([]app.OpenDelivery, error) {
	var open []app.OpenDelivery
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		open = nil
		return tx.NewRaw(openDeliveries, store, id, after, limit).Scan(ctx, &open)
	})
	return open, err
}

// openDeliveries reads each status from the index of that status.
const (
	openDeliveries = openFrom + `'retrying'` + openPage + ` UNION ALL ` +
		openFrom + `'dead_letter'` + openPage + ` UNION ALL ` +
		openFrom + `'pending'` + openPage + ` UNION ALL ` +
		openFrom + `'queued' AND replays > 0` + openPage + `
		ORDER BY id LIMIT ?3`
	openFrom = `(
		SELECT id, event_id, status IN ('queued', 'dead_letter') AS idle FROM deliveries
		WHERE store_id = ?0 AND subscription_id = ?1 AND ` + isDeleted + ` AND id > ?2 AND status = `
	openPage = ` ORDER BY id LIMIT ?3)`
)
