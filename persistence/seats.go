package persistence

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// SeatsOfDay tells how many of a store's seats are taken over a day in its zone, by those who
// came the day before as well.
func (db *DB) SeatsOfDay(ctx context.Context, store app.StoreID, date string) (app.SeatsOfDay, error) {
	var day app.SeatsOfDay
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		settings, err := settingsOf(ctx, tx, store)
		if err != nil {
			return err
		}
		zone, err := zoneOf(settings.Timezone)
		if err != nil {
			return err
		}
		from, to, err := app.DayIn(zone, date)
		if err != nil {
			return err
		}
		var rows []reservationRow
		if err := seatedDuring(tx, &rows, reservationRow{StoreID: store, StartAt: from, EndAt: to}).Scan(ctx); err != nil {
			return err
		}
		parties := make([]app.Seated, len(rows))
		for i, r := range rows {
			parties[i] = app.Seated{Start: r.StartAt, End: r.EndAt, PartySize: r.PartySize}
		}
		day = app.SeatsOfDay{Date: date, Timezone: settings.Timezone, Seats: settings.Seats, Taken: app.SeatsOver(parties, from, to)}
		for _, taken := range day.Taken {
			day.Peak = max(day.Peak, taken.Seats)
		}
		return nil
	})
	return day, err
}
