package ordering

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// erasedReservation are the columns of a reservation after its erasure at $3.
const erasedReservation = `metadata = '{}', customer_name = '', customer_email = '', customer_phone = '', notes = '',
		table_label = '', cancellation_reason = '', version = version + 1,
		updated_at = greatest(updated_at, $3), erased_at = $3`

// reservationErasures replace or delete the personal data of reservation $2 of store $1. $3 is the time.
var reservationErasures = []string{
	`DELETE FROM idempotency_keys WHERE store_id = $1 AND subject = $2 AND $3::timestamptz IS NOT NULL`,
	`UPDATE reservations SET ` + erasedReservation + ` WHERE store_id = $1 AND id = $2`,
	`UPDATE outbox SET erasing = $2 WHERE store_id = $1 AND body IS NOT NULL AND $3::timestamptz IS NOT NULL
		AND subject = $2`,
}

// EraseReservation replaces the personal data of a reservation, and enqueues the job that erases the bodies of its
// events once their deliveries have ended. Reservations need a separate erasure, because a guest without a customer can
// make one. It returns NOT_FOUND, also for an erased reservation, and CONFLICT while the reservation is PENDING or
// CONFIRMED.
func (db *DB) EraseReservation(
	ctx context.Context, now time.Time, store app.StoreID, by app.Actor, id app.ReservationID,
) error {
	now = app.At(now).Time
	return db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		var status app.ReservationStatus
		err := tx.Tx.QueryRowContext(ctx, `SELECT status FROM reservations
			WHERE store_id = $1 AND id = $2 AND erased_at IS NULL FOR NO KEY UPDATE`, store, id).Scan(&status)
		if err != nil {
			return err
		}
		if len(status.Transitions()) > 0 {
			return app.Errorf(app.CodeConflict, "the reservation is %s; complete or cancel it first", status)
		}
		for _, statement := range reservationErasures {
			if _, err := tx.Tx.ExecContext(ctx, statement, store, id, now); err != nil {
				return err
			}
		}
		if err := pg.Audit(ctx, tx, now, store, by, app.AuditCustomerErased, string(id), nil); err != nil {
			return err
		}
		return delivery.EnqueueJob(ctx, tx, now, store, app.JobErasure, string(id))
	})
}
