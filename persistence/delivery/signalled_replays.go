package delivery

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// BeginReplay begins the replay of an ended delivery, which an operator has requested, and reports whether its workflow
// may make the first attempt now. The replay passes by the queue and the plan, but not by the turn of its resource: if
// another delivery has it, or the webhook is becoming ordered, the replay is queued, and a later claim counts it. A
// delivery in progress has already begun, and a queued one stays queued. One that cannot be delivered again stays as it
// is: its attempt ends it.
func (q *Queue) BeginReplay(ctx context.Context, now time.Time, id app.DeliveryID) (began bool, err error) {
	now = app.At(now).Time
	var event changedEvent
	err = q.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		event, began = changedEvent{}, true
		var d struct {
			Status    app.DeliveryStatus
			StoreID   app.StoreID
			EventID   app.EventID
			EventType app.EventType
		}
		err := tx.NewRaw(`SELECT status, store_id, event_id, event_type FROM deliveries WHERE id = ? FOR UPDATE`, id).
			Scan(ctx, &d)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return nil
		case err != nil:
			return err
		case !d.Status.CanBeReplayed():
			began = d.Status != app.DeliveryQueued
			return nil
		}
		kept, err := keptEvents(ctx, tx, []app.EventID{d.EventID})
		if err != nil || !kept[d.EventID] {
			return err
		}
		if rows, err := requeue(ctx, tx, now, d.StoreID, "", id); err != nil || len(rows) == 0 {
			return err
		}
		event = changedEvent{d.EventID, d.StoreID, d.EventType}
		return tx.NewRaw(`WITH begun AS (
				UPDATE deliveries SET status = 'pending', started_at = ?, counted_in = NULL, relay = NULL
				WHERE id = ? AND status = 'queued' AND NOT held
					AND NOT EXISTS (SELECT FROM subscriptions s WHERE s.id = deliveries.subscription_id
						AND s.reordering AND s.ordering = 'resource')
				RETURNING 1
			) SELECT count(*) > 0 FROM begun`, now, id).Scan(ctx, &began)
	})
	if err == nil && event.ID != "" {
		q.notifyOrders(event)
	}
	return began, err
}
