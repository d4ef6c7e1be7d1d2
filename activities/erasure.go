package activities

import (
	"context"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// erasureBatch is the maximum number of bodies that one transaction erases.
const erasureBatch = 200

// ErasureStore contains the events of erased customers.
type ErasureStore interface {
	// CancelErased cancels deliveries of a customer's events that are queued for too long, at most limit.
	CancelErased(
		ctx context.Context, now time.Time, store app.StoreID, customer app.CustomerID, limit int,
	) (int, error)
	// EraseCustomerBodies erases bodies of a customer's events whose deliveries have ended, at most limit.
	EraseCustomerBodies(
		ctx context.Context, now time.Time, store app.StoreID, customer app.CustomerID, limit int,
	) (app.ErasureStep, error)
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
}

// EraseEvents erases the bodies of all events whose deliveries have ended. Deliveries that are queued for too long end.
func (e *Erasure) EraseEvents(ctx context.Context, in ErasureInput) (app.ErasureStep, error) {
	var all app.ErasureStep
	for {
		cancelled, err := e.store.CancelErased(ctx, e.now(), in.StoreID, in.CustomerID, erasureBatch)
		if err != nil {
			return all, err
		}
		if cancelled < erasureBatch {
			break
		}
	}
	for {
		step, err := e.store.EraseCustomerBodies(ctx, e.now(), in.StoreID, in.CustomerID, erasureBatch)
		if err != nil {
			return all, err
		}
		all.Erased, all.Waiting = all.Erased+step.Erased, step.Waiting
		if step.Erased < erasureBatch {
			return all, nil
		}
	}
}
