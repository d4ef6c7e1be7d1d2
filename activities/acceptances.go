package activities

import (
	"context"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// AcceptanceStore contains the orders that wait for acceptance.
type AcceptanceStore interface {
	TickAcceptance(ctx context.Context, now time.Time, store app.StoreID, id app.OrderID) (app.AcceptanceTick, error)
}

// Acceptances contains the activity of orders that wait for acceptance. It is one transaction and can be repeated.
type Acceptances struct {
	store AcceptanceStore
	now   func() time.Time
}

// NewAcceptances returns the activity.
func NewAcceptances(store AcceptanceStore, now func() time.Time) *Acceptances {
	return &Acceptances{store, now}
}

// TickAcceptanceInput identifies an order.
type TickAcceptanceInput struct {
	StoreID app.StoreID `json:"storeId"`
	OrderID app.OrderID `json:"orderId"`
}

// TickAcceptance evaluates the deadlines of an order. It reminds the store of the order, or cancels the order.
func (a *Acceptances) TickAcceptance(ctx context.Context, in TickAcceptanceInput) (app.AcceptanceTick, error) {
	return a.store.TickAcceptance(ctx, a.now(), in.StoreID, in.OrderID)
}
