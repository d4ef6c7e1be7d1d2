package persistence

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// businessDate returns a store's business date at the time now.
func businessDate(ctx context.Context, tx bun.Tx, store app.StoreID, now time.Time) (string, error) {
	var r storeRules
	err := tx.NewRaw("SELECT timezone, business_day_cutoff_hour FROM stores WHERE id = ?", store).
		Scan(ctx, &r.Timezone, &r.CutoffHour)
	if err != nil {
		return "", err
	}
	return r.businessDate(now)
}

// businessDate returns the store's business date at the time now: the date in the store's time zone,
// or the previous date if the hour is before the cutoff.
func (r storeRules) businessDate(now time.Time) (string, error) {
	zone, err := ZoneOf(r.Timezone)
	if err != nil {
		return "", err
	}
	return app.BusinessDay(now, zone, r.CutoffHour).Format(time.DateOnly), nil
}
