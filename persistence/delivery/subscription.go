package delivery

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// findSubscription returns NOT_FOUND if a store has no such subscription.
func findSubscription(ctx context.Context, tx bun.Tx, store app.StoreID, id app.SubscriptionID) error {
	var exists int
	return tx.NewRaw(`SELECT 1 FROM subscriptions WHERE store_id = ? AND id = ? AND deleted_at IS NULL`, store, id).
		Scan(ctx, &exists)
}
