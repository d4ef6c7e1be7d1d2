package api

import (
	"context"
	"time"

	"github.com/comanda-dev/comanda/app"
)

var changeStock = handle("changeStock", (*Server).changeStock, app.CodeConflict)

type changeStockIn struct {
	ID      app.ProductID   `path:"id"`
	IfMatch etag            `header:"If-Match"`
	Adjust  *int64          `json:"adjust" validate:"omitempty,stockchange"`
	Set     nullable[int64] `json:"set" validate:"omitempty,stock"`
}

func (in changeStockIn) check() []app.Detail {
	if (in.Adjust == nil) == (in.Set == nil) {
		return []app.Detail{{Path: "adjust", Message: "either adjust or set is required, not both"}}
	}
	return nil
}

// changeStock returns the product with its own texts and price, as changeProduct does.
func (s *Server) changeStock(ctx context.Context, c *call, in changeStockIn) (app.Product, error) {
	change := app.StockChange{Adjust: in.Adjust}
	patch(&change.Set, in.Set)
	return s.db.ChangeStock(ctx, c.now, c.principal.StoreID, in.ID, in.IfMatch.version(), change, c.once)
}

// maxSoldOut is the longest time for which a product can be sold out.
const maxSoldOut = 366 * 24 * time.Hour

// checkSoldOut returns VALIDATION_FAILED unless a new soldOutUntil is nil or within maxSoldOut.
func checkSoldOut(now time.Time, until *app.Time) error {
	switch {
	case until == nil:
		return nil
	case !until.After(now):
		return app.Invalid("soldOutUntil", "must be in the future; null makes the product orderable")
	case until.After(now.Add(maxSoldOut)):
		return app.Invalid("soldOutUntil", "must be at most 366 days ahead")
	}
	return nil
}

// sameTime reports whether two optional times are equal.
func sameTime(a, b *app.Time) bool {
	return a == b || a != nil && b != nil && a.Equal(b.Time)
}
