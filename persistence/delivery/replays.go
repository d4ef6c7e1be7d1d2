package delivery

import (
	"context"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Replay queues an ended delivery again. It returns NOT_FOUND, DELIVERY_IN_PROGRESS if the delivery
// has not ended, PAYLOAD_ERASED if the body of its event is erased, and CONFLICT if its subscription
// is deleted.
func (q *Queue) Replay(ctx context.Context, now time.Time, store app.StoreID, by app.Actor,
	id app.DeliveryID,
) (app.Delivery, error) {
	now = app.At(now).Time
	var row deliveryRow
	err := q.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		var status app.DeliveryStatus
		var event app.EventID
		err := tx.NewRaw(`SELECT status, event_id FROM deliveries WHERE store_id = ? AND id = ? FOR UPDATE`, store, id).
			Scan(ctx, &status, &event)
		if err != nil {
			return err
		}
		if !status.CanBeReplayed() {
			return app.Errorf(app.CodeDeliveryInProgress,
				"the delivery is still %s; replay it after it has ended", status)
		}
		kept, err := keptEvents(ctx, tx, []app.EventID{event})
		switch {
		case err != nil:
			return err
		case !kept[event]:
			return app.Errorf(app.CodePayloadErased, "the body of the event is erased, so it cannot be delivered again")
		}
		if err := pg.Audit(ctx, tx, now, store, by, app.AuditWebhookReplayed, string(id), nil); err != nil {
			return err
		}
		rows, err := requeue(ctx, tx, now, store, "", id)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return app.Errorf(app.CodeConflict, "the webhook of the delivery is deleted")
		}
		return findDelivery(ctx, tx, &row, store, id) // the statement that queues it does not return its turn
	})
	if err == nil {
		q.notifyOrders(changedEvent{row.EventID, store, row.EventType})
	}
	return row.delivery(), err
}

// requeue queues ended deliveries of a store again, for a bulk replay ("" = none), and wakes the
// relays. A later claim counts each as one start of the plan. Replays to an inactive subscription end as dead letters.
// It skips deliveries of a deleted subscription, whose teardown may have ended.
func requeue(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, replay app.ReplayID,
	ids ...app.DeliveryID,
) ([]deliveryRow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []deliveryRow
	err := tx.NewRaw(`
		WITH subscription AS MATERIALIZED (
			-- The lock keeps the ordering of the subscriptions until the commit, and a teardown begins after it.
			SELECT id, ordering = 'resource' OR ?3 <> '' AS is_ordered FROM subscriptions
			WHERE id IN (SELECT subscription_id FROM deliveries WHERE store_id = ?0 AND id = ANY (?1::text[]))
				AND deleted_at IS NULL
			ORDER BY id FOR SHARE
		)
		UPDATE deliveries d SET status = 'queued', reason = '', replays = replays + 1, replay_id = nullif(?3, ''),
			class = 2, scheduled_for = ?2, schedule_base = attempts, burst_id = NULL, check_at = NULL,
			lease_until = NULL, started_at = NULL, next_retry_at = NULL, ended_at = NULL,
			ordered = s.is_ordered AND d.resource <> '', held = s.is_ordered AND d.resource <> ''
		FROM subscription s WHERE d.store_id = ?0 AND d.id = ANY (?1::text[]) AND s.id = d.subscription_id
		RETURNING d.id, d.subscription_id, d.event_id, d.event_type, d.status, d.reason, d.attempts, d.scheduled_for,
			d.created_at`,
		store, pgdialect.Array(ids), now, replay).Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}
	subscriptions := make([]app.SubscriptionID, len(rows))
	for i, row := range rows {
		subscriptions[i] = row.SubscriptionID
	}
	if err := endReplaysToInactive(ctx, tx, now, subscriptions); err != nil {
		return nil, err
	}
	return rows, wakeRelays(ctx)
}

// keptEvents returns the events that have a body and whose customer is not erased. It locks them, so that the bodies
// stay until the end of the transaction.
func keptEvents(ctx context.Context, tx bun.Tx, ids []app.EventID) (map[app.EventID]bool, error) {
	var kept []app.EventID
	err := tx.NewRaw(`SELECT id FROM outbox WHERE id = ANY (?) AND body IS NOT NULL AND erasing IS NULL
		ORDER BY id FOR KEY SHARE`,
		pgdialect.Array(ids)).Scan(ctx, &kept)
	found := make(map[app.EventID]bool, len(kept))
	for _, id := range kept {
		found[id] = true
	}
	return found, err
}
