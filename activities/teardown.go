package activities

import (
	"context"
	"time"

	"github.com/comanda-dev/comanda/app"
)

const (
	// teardownQueued is how many deliveries that were never started one batch cancels.
	teardownQueued = 1000
	// teardownBatch is how many workflows one batch cancels.
	teardownBatch = 100
	// teardownPace is how long a batch waits after each of them: a cancelled workflow has
	// work to do, and those of others are not to feel it.
	teardownPace = 10 * time.Millisecond
)

// TeardownStore is what tearing down needs of the database.
type TeardownStore interface {
	CancelQueued(ctx context.Context, now time.Time, store app.StoreID, subscription app.SubscriptionID, limit int) (int, error)
	OpenDeliveries(ctx context.Context, store app.StoreID, subscription app.SubscriptionID, after app.DeliveryID, limit int) ([]app.OpenDelivery, error)
	EndDelivery(ctx context.Context, now time.Time, id app.DeliveryID, status app.DeliveryStatus, reason string) error
}

// Teardown cancels what is left to deliver to a deleted subscription.
type Teardown struct {
	store  TeardownStore
	cancel func(ctx context.Context, delivery app.OpenDelivery, subscription app.SubscriptionID) (found bool, err error)
	now    func() time.Time
	pause  func(ctx context.Context)
}

// NewTeardown joins what a teardown needs. cancel asks a delivery's workflow to end, which
// records that by itself, and reports whether there was one.
func NewTeardown(store TeardownStore, cancel func(context.Context, app.OpenDelivery, app.SubscriptionID) (bool, error), now func() time.Time) *Teardown {
	return &Teardown{store, cancel, now, func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-time.After(teardownPace):
		}
	}}
}

// TeardownInput names where a batch begins.
type TeardownInput struct {
	StoreID        app.StoreID        `json:"storeId"`
	SubscriptionID app.SubscriptionID `json:"subscriptionId"`
	After          app.DeliveryID     `json:"after,omitempty"` // the last one of the batch before
}

// TeardownResult is what a batch did.
type TeardownResult struct {
	Cancelled int            `json:"cancelled"`
	Last      app.DeliveryID `json:"last,omitempty"`
	More      bool           `json:"more"` // there may be more behind Last
}

// CancelBatch cancels one batch. It can be repeated: a delivery that has ended is no longer open, and a second request
// to a workflow has no effect. It calls alive before each delivery.
func (t *Teardown) CancelBatch(ctx context.Context, in TeardownInput, alive func()) (TeardownResult, error) {
	queued, err := t.store.CancelQueued(ctx, t.now(), in.StoreID, in.SubscriptionID, teardownQueued)
	if err != nil {
		return TeardownResult{}, err
	}
	open, err := t.store.OpenDeliveries(ctx, in.StoreID, in.SubscriptionID, in.After, teardownBatch)
	if err != nil {
		return TeardownResult{}, err
	}
	result := TeardownResult{Cancelled: queued + len(open), Last: in.After, More: queued == teardownQueued || len(open) == teardownBatch}
	for _, delivery := range open {
		alive()
		found, err := t.cancel(ctx, delivery, in.SubscriptionID)
		if err == nil && !found {
			err = t.store.EndDelivery(ctx, t.now(), delivery.ID, app.DeliveryCancelled, app.ReasonDeleted)
		}
		if err != nil {
			return TeardownResult{}, err
		}
		result.Last = delivery.ID
		t.pause(ctx)
	}
	return result, ctx.Err()
}
