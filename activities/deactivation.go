package activities

import (
	"context"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// deactivationBatch is the maximum number of queued deliveries that one batch ends.
const deactivationBatch = 1000

// DeactivationStore contains the deliveries of inactive subscriptions.
type DeactivationStore interface {
	// EndQueued ends at most limit queued deliveries as dead letters while the subscription is inactive, and returns
	// their number.
	EndQueued(
		ctx context.Context, now time.Time, store app.StoreID, subscription app.SubscriptionID, limit int,
	) (int, error)
}

// Deactivation contains the activity that ends the queued deliveries of an inactive subscription.
type Deactivation struct {
	store DeactivationStore
	now   func() time.Time
}

// NewDeactivation returns the activity.
func NewDeactivation(store DeactivationStore, now func() time.Time) *Deactivation {
	return &Deactivation{store, now}
}

// DeactivationInput identifies a subscription.
type DeactivationInput struct {
	StoreID        app.StoreID        `json:"storeId"`
	SubscriptionID app.SubscriptionID `json:"subscriptionId"`
}

// DeactivationResult is the result of a batch.
type DeactivationResult struct {
	Ended int  `json:"ended"`
	More  bool `json:"more"` // there may be further queued deliveries
}

// EndBatch ends one batch of queued deliveries. It can be repeated.
func (d *Deactivation) EndBatch(ctx context.Context, in DeactivationInput) (DeactivationResult, error) {
	ended, err := d.store.EndQueued(ctx, d.now(), in.StoreID, in.SubscriptionID, deactivationBatch)
	return DeactivationResult{Ended: ended, More: ended == deactivationBatch}, err
}
