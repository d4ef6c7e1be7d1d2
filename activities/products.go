package activities

import (
	"context"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// ProductStore contains the products of all stores.
type ProductStore interface {
	// EndSoldOut ends the time during which a product is sold out, if it has passed, and emits product.updated. It
	// returns the time until it passes, 0 if the product is not sold out.
	EndSoldOut(ctx context.Context, now time.Time, store app.StoreID, id app.ProductID) (time.Duration, error)
}

// Products contains the activity of products that are sold out. It is one transaction and can be repeated.
type Products struct {
	store ProductStore
	now   func() time.Time
}

// NewProducts returns the activity.
func NewProducts(store ProductStore, now func() time.Time) *Products { return &Products{store, now} }

// SoldOutInput identifies a product that is sold out.
type SoldOutInput struct {
	StoreID   app.StoreID   `json:"storeId"`
	ProductID app.ProductID `json:"productId"`
}

// SoldOutResult is the state of a product that was sold out.
type SoldOutResult struct {
	NextIn time.Duration `json:"nextIn"` // time until soldOutUntil passes; 0 = the product is not sold out
}

// EndSoldOut ends the time during which a product is sold out, if it has passed.
func (p *Products) EndSoldOut(ctx context.Context, in SoldOutInput) (SoldOutResult, error) {
	wait, err := p.store.EndSoldOut(ctx, p.now(), in.StoreID, in.ProductID)
	return SoldOutResult{wait}, err
}
