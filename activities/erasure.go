package activities

import (
	"context"
	"time"

	"github.com/comanda-dev/comanda/app"
)

const (
	// erasureBatch is the maximum number of bodies that one transaction erases. With 100 webhooks, it takes half a second
	// and longer.
	erasureBatch = 50
	// erasureSteps is the maximum number of these transactions in one step, after which other jobs of the website run.
	erasureSteps = 20
)

// ErasureStore contains the events of erased customers.
type ErasureStore interface {
	// CancelErased cancels deliveries of a customer's events that are queued for too long, at most limit.
	CancelErased(
		ctx context.Context, now time.Time, store app.StoreID, customer app.CustomerID, limit int,
	) (int, error)
	// EraseCustomerBodies erases the bodies of those of a customer's next events, at most limit, whose deliveries have
	// ended.
	EraseCustomerBodies(ctx context.Context, now time.Time, store app.StoreID, customer app.CustomerID,
		after app.EventID, limit int) (app.ErasureStep, error)
}

// Erasure contains the activity that erases the events of an erased customer. It can be repeated.
type Erasure struct {
	store ErasureStore
	now   func() time.Time
}

// NewErasure returns the activity.
func NewErasure(store ErasureStore, now func() time.Time) *Erasure { return &Erasure{store, now} }

// ErasureInput identifies an erased customer.
type ErasureInput struct {
	StoreID    app.StoreID    `json:"storeId"`
	CustomerID app.CustomerID `json:"customerId"`
	After      app.EventID    `json:"after,omitempty"` // last event of the previous step; "" = none
}

// EraseEvents erases the bodies of the next events whose deliveries have ended. Before the first step of a pass,
// deliveries that are queued for too long end.
func (e *Erasure) EraseEvents(ctx context.Context, in ErasureInput) (app.ErasureStep, error) {
	var all app.ErasureStep
	for in.After == "" {
		cancelled, err := e.store.CancelErased(ctx, e.now(), in.StoreID, in.CustomerID, erasureBatch)
		if err != nil {
			return all, err
		}
		if cancelled < erasureBatch {
			break
		}
	}
	all.Last = in.After
	for range erasureSteps {
		step, err := e.store.EraseCustomerBodies(ctx, e.now(), in.StoreID, in.CustomerID, all.Last, erasureBatch)
		if err != nil {
			return all, err
		}
		all.Erased, all.Waiting, all.Last = all.Erased+step.Erased, all.Waiting+step.Waiting, step.Last
		if all.Last == "" {
			break
		}
	}
	return all, nil
}
