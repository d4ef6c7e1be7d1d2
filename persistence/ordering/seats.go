package ordering

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// SeatsOfDay returns the number of taken seats over a day in the store's time zone, including
// reservations that began on the day before.
func (db *DB) SeatsOfDay(ctx context.Context, store app.StoreID, date string) (app.SeatsOfDay, error) {
	var day app.SeatsOfDay
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		settings, zone, err := identity.ZonedSettingsOf(ctx, tx, store)
		if err != nil {
			return err
		}
		from, to, err := app.DayIn(zone, date)
		if err != nil {
			return err
		}
		parties, err := seatedParties(ctx, tx, reservationRow{StoreID: store, StartAt: from, EndAt: to})
		if err != nil {
			return err
		}
		day = app.SeatsOfDay{
			Date: date, Timezone: settings.Timezone, Seats: settings.Seats, Taken: app.SeatsOver(parties, from, to),
		}
		for _, taken := range day.Taken {
			day.Peak = max(day.Peak, taken.Seats)
		}
		return nil
	})
	return day, err
}

// Slots returns the times of a day that a caller can reserve at now, none outside of the booking window. It returns
// NOT_FOUND if the store has no such reservation as the query excepts.
func (db *DB) Slots(
	ctx context.Context, now time.Time, store app.StoreID, by app.Actor, q app.SlotQuery,
) ([]app.Slot, error) {
	slots := []app.Slot{}
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		settings, err := identity.SettingsOf(ctx, tx, store)
		if err != nil {
			return err
		}
		if err := checkReservation(ctx, tx, store, q.Except); err != nil {
			return err
		}
		booking, err := settings.Booking(app.At(now).Time, by.Realm)
		if err != nil {
			return err
		}
		from, to, ok, err := booking.Day(q.Date)
		if err != nil || !ok || q.PartySize > settings.Seats {
			return err
		}
		if q.Minutes == 0 {
			q.Minutes = settings.ReservationMinutes
		}
		stay := time.Duration(q.Minutes) * time.Minute
		others, err := seatedParties(ctx, tx, reservationRow{
			ID: q.Except, StoreID: store, StartAt: from, EndAt: to.Add(stay),
		})
		if err != nil {
			return err
		}
		slots = booking.Slots(from, to, stay, q.PartySize, settings.Seats, others)
		return nil
	})
	return slots, err
}

// checkReservation returns NOT_FOUND if a store has no such reservation; "" is none.
func checkReservation(ctx context.Context, tx bun.Tx, store app.StoreID, id app.ReservationID) error {
	if id == "" {
		return nil
	}
	var found int
	return tx.Tx.QueryRowContext(ctx, "SELECT 1 FROM reservations WHERE store_id = $1 AND id = $2", store, id).
		Scan(&found)
}
