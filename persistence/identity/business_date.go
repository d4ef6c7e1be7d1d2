package identity

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// BusinessDate returns a store's business date at the time now.
func BusinessDate(ctx context.Context, tx bun.Tx, store app.StoreID, now time.Time) (string, error) {
	var timezone string
	var cutoffHour int
	err := tx.NewRaw("SELECT timezone, business_day_cutoff_hour FROM stores WHERE id = ?", store).
		Scan(ctx, &timezone, &cutoffHour)
	if err != nil {
		return "", err
	}
	return BusinessDateAt(now, timezone, cutoffHour)
}

// BusinessDateAt returns the business date at the time now: the date in the time zone, or the previous date if the hour
// is before the cutoff.
func BusinessDateAt(now time.Time, timezone string, cutoffHour int) (string, error) {
	zone, err := zoneOf(timezone)
	if err != nil {
		return "", err
	}
	return app.BusinessDay(now, zone, cutoffHour).Format(time.DateOnly), nil
}
