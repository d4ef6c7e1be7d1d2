package activities

import (
	"context"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// reorderingBatch is the maximum number of deliveries that one batch changes: about 100 ms of a connection.
const reorderingBatch = 1000

// ReorderingStore contains the deliveries of subscriptions whose ordering has changed.
type ReorderingStore interface {
	// Reorder changes at most limit deliveries according to the present ordering of a subscription, from a position on.
	Reorder(
		ctx context.Context, now time.Time, store app.StoreID, subscription app.SubscriptionID, from app.Reordering,
		limit int,
	) (app.Reordering, error)
}

// Reorderings contains the activity that applies a changed ordering to unfinished deliveries.
type Reorderings struct {
	store ReorderingStore
	now   func() time.Time
}

// NewReorderings returns the activity.
func NewReorderings(store ReorderingStore, now func() time.Time) *Reorderings {
	return &Reorderings{store, now}
}

// ReorderingInput identifies a subscription and the start of a batch.
type ReorderingInput struct {
	StoreID        app.StoreID        `json:"storeId"`
	SubscriptionID app.SubscriptionID `json:"subscriptionId"`
	From           app.Reordering     `json:"from"` // result of the previous batch
}

// Reorder changes one batch of deliveries. It can be repeated.
func (r *Reorderings) Reorder(ctx context.Context, in ReorderingInput) (app.Reordering, error) {
	return r.store.Reorder(ctx, r.now(), in.StoreID, in.SubscriptionID, in.From, reorderingBatch)
}
