package activities

import (
	"context"
	"time"

	"github.com/comanda-dev/comanda/app"
)

const (
	// teardownQueued is the maximum number of queued deliveries that one batch cancels.
	teardownQueued = 1000
	// teardownBatch is the maximum number of workflows that one batch cancels.
	teardownBatch = 100
	// teardownPace is the pause after each workflow. Cancelled workflows cause work on the server, which would
	// otherwise delay other subscriptions.
	teardownPace = 10 * time.Millisecond
)

// TeardownStore contains the deliveries of deleted subscriptions.
type TeardownStore interface {
	// CancelQueued cancels at most limit queued deliveries and returns their number.
	CancelQueued(
		ctx context.Context, now time.Time, store app.StoreID, subscription app.SubscriptionID, limit int,
	) (int, error)
	// OpenDeliveries returns at most limit deliveries that may have an open workflow, ordered by id, after the given
	// id.
	OpenDeliveries(
		ctx context.Context, store app.StoreID, subscription app.SubscriptionID, after app.DeliveryID, limit int,
	) ([]app.OpenDelivery, error)
	// EndDelivery ends a delivery without an attempt.
	EndDelivery(ctx context.Context, now time.Time, id app.DeliveryID, status app.DeliveryStatus, reason string) error
}

// Teardown contains the activity that cancels the open deliveries of a deleted subscription.
type Teardown struct {
	store  TeardownStore
	cancel func(ctx context.Context, delivery app.OpenDelivery, subscription app.SubscriptionID) (found bool, err error)
	now    func() time.Time
	pause  func(ctx context.Context)
}

// NewTeardown returns the activity. cancel requests the cancellation of a delivery's workflow and reports whether it
// found one. The cancelled workflow records the end of a delivery that is not idle.
func NewTeardown(
	store TeardownStore, cancel func(context.Context, app.OpenDelivery, app.SubscriptionID) (bool, error),
	now func() time.Time,
) *Teardown {
	return &Teardown{store, cancel, now, func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-time.After(teardownPace):
		}
	}}
}

// TeardownInput identifies a subscription and the start of a batch.
type TeardownInput struct {
	StoreID        app.StoreID        `json:"storeId"`
	SubscriptionID app.SubscriptionID `json:"subscriptionId"`
	After          app.DeliveryID     `json:"after,omitempty"` // last delivery of the previous batch
}

// TeardownResult is the result of a batch.
type TeardownResult struct {
	Cancelled int            `json:"cancelled"`
	Last      app.DeliveryID `json:"last,omitempty"`
	More      bool           `json:"more"` // there may be further deliveries after Last
}

// CancelBatch cancels one batch. It ends queued replays and dead letters directly, too: the workflow of the earlier run
// may have completed, and then records no end, though Temporal accepts its cancellation. It can be repeated: a delivery
// that has ended is no longer open, and a second request to a workflow has no effect. It calls alive before each
// delivery.
func (t *Teardown) CancelBatch(ctx context.Context, in TeardownInput, alive func()) (TeardownResult, error) {
	queued, err := t.store.CancelQueued(ctx, t.now(), in.StoreID, in.SubscriptionID, teardownQueued)
	if err != nil {
		return TeardownResult{}, err
	}
	open, err := t.store.OpenDeliveries(ctx, in.StoreID, in.SubscriptionID, in.After, teardownBatch)
	if err != nil {
		return TeardownResult{}, err
	}
	result := TeardownResult{
		Cancelled: queued + len(open), Last: in.After,
		More: queued == teardownQueued || len(open) == teardownBatch,
	}
	for _, delivery := range open {
		alive()
		found, err := t.cancel(ctx, delivery, in.SubscriptionID)
		if err == nil && (!found || delivery.Idle) {
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
