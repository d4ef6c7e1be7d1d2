package delivery

import (
	"context"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Replay queues an ended delivery again, in a slot of its plan. It returns NOT_FOUND,
// DELIVERY_IN_PROGRESS if the delivery has not ended, PAYLOAD_ERASED if its body is no longer
// stored, and CONFLICT if its subscription is deleted.
func (q *Queue) Replay(ctx context.Context, now time.Time, store app.StoreID, by app.Actor,
	id app.DeliveryID,
) (app.Delivery, error) {
	now = app.At(now).Time
	var row deliveryRow
	err := pg.RunTx(ctx, q.pg.System(), func(ctx context.Context, tx bun.Tx) error {
		var status app.DeliveryStatus
		var event app.EventID
		var orphaned bool
		err := tx.NewRaw(`SELECT d.status, d.event_id,
				NOT EXISTS (SELECT FROM subscriptions s WHERE s.id = d.subscription_id AND s.deleted_at IS NULL)
			FROM deliveries d WHERE d.store_id = ? AND d.id = ? FOR UPDATE`, store, id).
			Scan(ctx, &status, &event, &orphaned)
		if err != nil {
			return err
		}
		if !status.CanBeReplayed() {
			return app.Errorf(app.CodeDeliveryInProgress, "the delivery is still %s", status)
		}
		kept, err := keptEvents(ctx, tx, []app.EventID{event})
		switch {
		case err != nil:
			return err
		case !kept[event]:
			return app.Errorf(app.CodePayloadErased, "the event's body is no longer kept")
		case orphaned:
			return app.Errorf(app.CodeConflict, "the delivery's webhook has been deleted")
		}
		if err := pg.Audit(ctx, tx, now, store, by, app.AuditWebhookReplayed, string(id), nil); err != nil {
			return err
		}
		rows, err := q.requeue(ctx, tx, now, store, "", id)
		if err == nil {
			row = rows[0]
		}
		return err
	})
	return row.delivery(), err
}

// requeue queues ended deliveries of a store again, each in a slot of the plan, for a bulk replay
// ("" = none), and wakes the relays.
func (q *Queue) requeue(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, replay app.ReplayID,
	ids ...app.DeliveryID,
) ([]deliveryRow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	slots, err := q.replaySlots(ctx, tx, now, store, len(ids))
	if err != nil {
		return nil, err
	}
	var rows []deliveryRow
	err = tx.NewRaw(`WITH d AS (
			UPDATE deliveries d SET status = 'queued', reason = '', replays = replays + 1, replay_id = nullif(?3, ''),
				scheduled_for = slot.at, lease_until = NULL, started_at = NULL, next_retry_at = NULL, ended_at = NULL
			FROM unnest(?1::text[], ?2::timestamptz[]) AS slot (id, at) WHERE d.store_id = ?0 AND d.id = slot.id
			RETURNING d.*
		) SELECT id, subscription_id, event_id, event_type, status, reason, attempts, scheduled_for, created_at
		FROM d, (SELECT pg_notify(?4, '')) notified`, store, pgdialect.Array(ids), pgdialect.Array(slots), replay,
		outboxChannel).Scan(ctx, &rows)
	return rows, err
}

// keptEvents returns which of these events have a body. It locks them: the bodies stay until tx
// ends.
func keptEvents(ctx context.Context, tx bun.Tx, ids []app.EventID) (map[app.EventID]bool, error) {
	var kept []app.EventID
	err := tx.NewRaw("SELECT id FROM outbox WHERE id = ANY (?) AND body IS NOT NULL ORDER BY id FOR KEY SHARE",
		pgdialect.Array(ids)).Scan(ctx, &kept)
	found := make(map[app.EventID]bool, len(kept))
	for _, id := range kept {
		found[id] = true
	}
	return found, err
}
