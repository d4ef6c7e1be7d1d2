package ordering

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// awaitAcceptance starts the wait for the acceptance of a new order of an API key: now, or at the due time of an order
// for later. An order without a requested time needs no workflow if the store has no deadlines. An order for later
// needs one, because the settings at its due time apply.
//
// Only the database's clock measures deadlines, because the clocks of the API and of the workers can differ.
func awaitAcceptance(
	ctx context.Context, tx bun.Tx, now time.Time, order app.Order, by app.Actor, rules app.Acceptance,
) error {
	if by.Realm != app.RealmAPIKey || order.DueAt == nil && rules == (app.Acceptance{}) {
		return nil
	}
	_, err := tx.Tx.ExecContext(ctx, `INSERT INTO acceptances (order_id, store_id, since, next_at)
		SELECT $1, $2, since, since FROM greatest($3, clock_timestamp()) since`, order.ID, order.StoreID,
		pg.UTCOrNil(order.DueAt))
	if err != nil {
		return err
	}
	return delivery.EnqueueJob(ctx, tx, now, order.StoreID, app.JobAcceptance, string(order.ID))
}

// moveAcceptance starts the deadlines of an order for later again, at its new due time. The deadlines of an order that
// was and remains due do not change. The job makes the workflow read the new time.
func moveAcceptance(ctx context.Context, tx bun.Tx, now time.Time, order app.Order) error {
	moved, err := pg.Inserted(tx.Tx.ExecContext(ctx, `UPDATE acceptances
		SET since = greatest($3, clock_timestamp()), next_at = greatest($3, clock_timestamp()), reminded_at = NULL
		WHERE store_id = $1 AND order_id = $2 AND greatest(since, $3) > clock_timestamp()`, order.StoreID, order.ID,
		order.DueAt.Time))
	if err != nil || !moved {
		return err
	}
	return delivery.EnqueueJob(ctx, tx, now, order.StoreID, app.JobAcceptance, string(order.ID))
}

// restartAcceptance starts the deadlines of an order of an API key again, at its new due time or, for an order as soon
// as possible, now. The job makes the workflow read the new time.
func restartAcceptance(ctx context.Context, tx bun.Tx, now time.Time, order app.Order) error {
	awaited, err := pg.Inserted(tx.Tx.ExecContext(ctx, `INSERT INTO acceptances (order_id, store_id, since, next_at)
		SELECT $1, $2, since, since FROM greatest($3::timestamptz, clock_timestamp()) since
		WHERE EXISTS (SELECT FROM order_history WHERE store_id = $2 AND order_id = $1 AND version = 1
			AND actor_realm = $4)
		ON CONFLICT (order_id) DO UPDATE SET since = excluded.since, next_at = excluded.next_at, reminded_at = NULL`,
		order.ID, order.StoreID, pg.UTCOrNil(order.DueAt), app.RealmAPIKey))
	if err != nil || !awaited {
		return err
	}
	return delivery.EnqueueJob(ctx, tx, now, order.StoreID, app.JobAcceptance, string(order.ID))
}

// endAcceptance stops the wait for the acceptance of an order that has left RECEIVED. The job makes the workflow end.
func endAcceptance(ctx context.Context, tx bun.Tx, now time.Time, order app.Order) error {
	awaited, err := pg.Inserted(tx.Tx.ExecContext(ctx, "DELETE FROM acceptances WHERE store_id = $1 AND order_id = $2",
		order.StoreID, order.ID))
	if err != nil || !awaited {
		return err
	}
	return delivery.EnqueueJob(ctx, tx, now, order.StoreID, app.JobAcceptance, string(order.ID))
}

// TickAcceptance evaluates the deadlines of an order: it reminds the store of an order in RECEIVED, or cancels it. It
// reads the store's settings each time. Only an order in RECEIVED is cancelled: a concurrent confirmation either
// precedes the tick, which then ends, or is refused. It can be repeated.
func (db *DB) TickAcceptance(
	ctx context.Context, now time.Time, store app.StoreID, id app.OrderID,
) (app.AcceptanceTick, error) {
	now = app.At(now).Time
	var tick app.AcceptanceTick
	err := db.deadlines.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		order, items, err := lockOrder(ctx, tx, store, id)
		if app.CodeOf(pg.Classify(err)) == app.CodeNotFound {
			tick = app.AcceptanceTick{State: app.AcceptanceUnknown}
			return nil
		}
		if err != nil {
			return err
		}
		if order.Status != app.OrderReceived {
			_, err := tx.Tx.ExecContext(ctx, "DELETE FROM acceptances WHERE store_id = $1 AND order_id = $2", store, id)
			if err == nil {
				tick.State, err = endedAcceptance(ctx, tx, order)
			}
			return err
		}
		tick, err = db.tickReceived(ctx, tx, now, order, items)
		return err
	})
	return tick, err
}

// endedAcceptance returns the state of the acceptance of an order that has left RECEIVED. A repeated tick finds the
// cancellation by an earlier one.
func endedAcceptance(ctx context.Context, tx bun.Tx, order app.Order) (app.AcceptanceState, error) {
	var cancelled bool
	err := tx.Tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM order_history WHERE store_id = $1 AND order_id = $2
		AND from_status = $3 AND to_status = $4 AND actor_realm = $5 AND actor_id = $6)`, order.StoreID, order.ID,
		app.OrderReceived, app.OrderCancelled, app.SystemActor.Realm, app.SystemActor.ID).Scan(&cancelled)
	if cancelled {
		return app.AcceptanceCancelled, err
	}
	return app.AcceptanceHandled, err
}

// tickReceived is TickAcceptance for a locked order in RECEIVED.
func (db *DB) tickReceived(
	ctx context.Context, tx bun.Tx, now time.Time, order app.Order, items []itemRow,
) (app.AcceptanceTick, error) {
	var rules app.Acceptance
	var waited int64 // microseconds
	var reminded bool
	err := tx.Tx.QueryRowContext(ctx, `SELECT s.remind_after_minutes, s.cancel_after_minutes,
			(extract(epoch FROM clock_timestamp() - a.since) * 1e6)::bigint, a.reminded_at IS NOT NULL
		FROM acceptances a JOIN stores s ON s.id = a.store_id WHERE a.store_id = $1 AND a.order_id = $2`,
		order.StoreID, order.ID).Scan(&rules.RemindAfterMinutes, &rules.CancelAfterMinutes, &waited, &reminded)
	if errors.Is(err, sql.ErrNoRows) { // an earlier tick ended
		return app.AcceptanceTick{State: app.AcceptanceOff}, nil
	}
	if err != nil {
		return app.AcceptanceTick{}, err
	}
	since := time.Duration(waited) * time.Microsecond
	step := rules.Step(since, reminded)
	switch {
	case step.Cancel:
		return app.AcceptanceTick{State: app.AcceptanceCancelled}, db.cancelUnaccepted(ctx, tx, now, order, items)
	case step.Off:
		_, err := tx.Tx.ExecContext(ctx, "DELETE FROM acceptances WHERE store_id = $1 AND order_id = $2",
			order.StoreID, order.ID)
		return app.AcceptanceTick{State: app.AcceptanceOff}, err
	case step.Remind:
		if err := db.remind(ctx, tx, now, order); err != nil {
			return app.AcceptanceTick{}, err
		}
	}
	state := app.AcceptanceWaiting
	switch {
	case since < 0:
		state = app.AcceptanceScheduled
	case step.Remind || reminded:
		state = app.AcceptanceReminded
	}
	_, err = tx.Tx.ExecContext(ctx, `UPDATE acceptances
		SET next_at = CASE WHEN $3::bigint > 0 THEN clock_timestamp() + $3 * interval '1 microsecond'
			ELSE 'infinity' END
		WHERE store_id = $1 AND order_id = $2`, order.StoreID, order.ID, step.Wait.Microseconds())
	return app.AcceptanceTick{State: state, NextIn: step.Wait}, err
}

// remind reminds the store of an order: in its order streams, and by mail.
func (db *DB) remind(ctx context.Context, tx bun.Tx, now time.Time, order app.Order) error {
	_, err := tx.Tx.ExecContext(ctx, "UPDATE acceptances SET reminded_at = $3 WHERE store_id = $1 AND order_id = $2",
		order.StoreID, order.ID, now)
	if err != nil {
		return err
	}
	if err := notifyReminder(ctx, order); err != nil {
		return err
	}
	return db.queue.EnqueueOrderMails(ctx, tx, now, order.StoreID, app.MailOrderReminder, order.ID)
}

// cancelUnaccepted cancels an order in RECEIVED that was not accepted in time.
func (db *DB) cancelUnaccepted(
	ctx context.Context, tx bun.Tx, now time.Time, order app.Order, items []itemRow,
) error {
	moved, err := order.Moved(app.OrderStatusChange{
		To: app.OrderCancelled, Reason: app.ReasonNotAccepted, MayCancel: true, By: app.SystemActor,
	}, app.At(now))
	if err != nil {
		return err
	}
	_, err = tx.Tx.ExecContext(ctx, "DELETE FROM acceptances WHERE store_id = $1 AND order_id = $2", order.StoreID,
		order.ID)
	if err != nil {
		return err
	}
	if err := saveMoved(ctx, tx, now, order, moved, items, app.SystemActor); err != nil {
		return err
	}
	return db.queue.EnqueueOrderMails(ctx, tx, now, order.StoreID, app.MailOrderCancelled, order.ID)
}
