package persistence

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// businessDate returns the day to which now counts in a store's books.
func businessDate(ctx context.Context, tx bun.Tx, store app.StoreID, now time.Time) (string, error) {
	var r storeRules
	err := tx.NewRaw("SELECT timezone, business_day_cutoff_hour FROM stores WHERE id = ?", store).Scan(ctx, &r.Timezone, &r.CutoffHour)
	if err != nil {
		return "", err
	}
	return r.businessDate(now)
}
