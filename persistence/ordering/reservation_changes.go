package ordering

import (
	"context"
	"reflect"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// ChangeReservation applies change to a reservation that is PENDING or CONFIRMED. It emits no event, and writes nothing
// if change changes nothing. Concurrent changes never occupy more seats than the store has. A change that takes no
// further seats is always possible, even if more seats are occupied than the store has. It returns NOT_FOUND,
// VERSION_MISMATCH (version 0 matches every version), INVALID_TRANSITION, SLOT_FULL and, for another time,
// OUTSIDE_BOOKING_WINDOW and STORE_CLOSED.
func (db *DB) ChangeReservation(
	ctx context.Context, now time.Time, store app.StoreID, by app.Actor, id app.ReservationID, version int64,
	change func(*app.Reservation) error,
) (app.Reservation, error) {
	now = app.At(now).Time
	var changed app.Reservation
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		settings, err := identity.LockSettings(ctx, tx, store)
		if err != nil {
			return err
		}
		row, err := lockReservation(ctx, tx, store, id, version)
		if err != nil {
			return err
		}
		before := row.reservation(settings.Timezone)
		if err := before.CheckEditable(); err != nil {
			return err
		}
		changed = before
		if err := change(&changed); err != nil {
			return err
		}
		if reflect.DeepEqual(changed, before) {
			return nil
		}
		if err := checkNewTime(settings, now, by, before, changed); err != nil {
			return err
		}
		row.PartySize, row.StartAt, row.EndAt = changed.PartySize, changed.StartAt.Time, changed.EndAt.Time
		if !changed.Within(before) {
			if err := checkSeats(ctx, tx, row, settings.Seats); err != nil {
				return err
			}
		}
		changed.Version, changed.UpdatedAt = row.Version+1, before.UpdatedAt.OrLater(app.At(now))
		_, err = tx.Tx.ExecContext(ctx, `UPDATE reservations SET party_size = $3, start_at = $4, end_at = $5,
				notes = $6, table_label = $7, version = $8, updated_at = $9, external_id = $10, metadata = $11
			WHERE store_id = $1 AND id = $2`, store, id, changed.PartySize, row.StartAt, row.EndAt, changed.Notes,
			changed.TableLabel, changed.Version, changed.UpdatedAt.Time, changed.ExternalID, changed.Metadata)
		return err
	})
	return changed, db.pg.ExternalIDTaken(ctx, store, "reservations", changed.ExternalID, err)
}

// checkNewTime returns OUTSIDE_BOOKING_WINDOW or STORE_CLOSED if a changed reservation has another time for which the
// caller cannot reserve. A reservation that only ends earlier keeps its time.
func checkNewTime(settings app.Settings, now time.Time, by app.Actor, before, changed app.Reservation) error {
	moved := changed.StartAt != before.StartAt
	if !moved && !changed.EndAt.After(before.EndAt.Time) {
		return nil
	}
	booking, err := settings.Booking(now, by.Realm)
	if err != nil {
		return err
	}
	if moved {
		if err := booking.CheckStart(changed.StartAt.Time); err != nil {
			return err
		}
	}
	return booking.CheckOpen(changed.StartAt.Time, changed.EndAt.Time)
}
