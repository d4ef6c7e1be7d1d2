package ordering

import (
	"context"

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
