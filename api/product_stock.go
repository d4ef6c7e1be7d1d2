package api

import (
	"context"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Operations of the stock and of sold-out times.
var (
	changeStock = handle("changeStock", (*Server).changeStock, app.CodeConflict)
	sellOut     = handle("setSoldOut", (*Server).sellOut)
)

type changeStockIn struct {
	ID      app.ProductID   `path:"id"`
	IfMatch etag            `header:"If-Match"`
	Adjust  *int64          `json:"adjust" validate:"omitempty,stockchange"`
	Set     nullable[int64] `json:"set" validate:"omitempty,stock"`
}

func (in changeStockIn) check() []app.Detail {
	switch {
	case in.Adjust == nil && in.Set == nil:
		return []app.Detail{{Path: "adjust", Message: "is required, unless set is given"}}
	case in.Adjust != nil && in.Set != nil:
		return []app.Detail{{Path: "adjust", Message: "must be absent if set is given"}}
	}
	return nil
}

// changeStock returns the product with its own texts and price, as changeProduct does.
func (s *Server) changeStock(ctx context.Context, c *call, in changeStockIn) (app.Product, error) {
	change := app.StockChange{Adjust: in.Adjust}
	patch(&change.Set, in.Set)
	return s.db.ChangeStock(ctx, c.now, c.principal.StoreID, in.ID, in.IfMatch.version(), change, c.once)
}

type sellOutIn struct {
	ID      app.ProductID      `path:"id"`
	IfMatch etag               `header:"If-Match"`
	Until   nullable[app.Time] `json:"until"`
}

func (in sellOutIn) check() []app.Detail {
	if in.Until == nil {
		return []app.Detail{{Path: "until", Message: "is required; null makes the product orderable"}}
	}
	return nil
}

// sellOut returns the product with its own texts and price, as changeProduct does.
func (s *Server) sellOut(ctx context.Context, c *call, in sellOutIn) (app.Product, error) {
	apply := func(p *app.Product) error {
		if sameTime(p.SoldOutUntil, *in.Until) {
			return nil
		}
		p.SoldOutUntil = *in.Until
		return checkSoldOut(c.now, "until", p.SoldOutUntil)
	}
	return s.db.ChangeProduct(ctx, c.now, c.principal.StoreID, c.actor(), in.ID, in.IfMatch.version(), apply)
}

const (
	soldOutMember = "soldOutUntil"

	maxSoldOut = 366 * 24 * time.Hour // the longest time for which a product can be sold out
)

// checkSoldOut returns VALIDATION_FAILED for a member unless its new soldOutUntil is nil or within maxSoldOut.
func checkSoldOut(now time.Time, member string, until *app.Time) error {
	switch {
	case until == nil:
		return nil
	case !until.After(now):
		return app.Invalid(member, "must be in the future; null makes the product orderable")
	case until.After(now.Add(maxSoldOut)):
		return app.Invalid(member, "must be at most 366 days ahead")
	}
	return nil
}

// sameTime reports whether two optional times are equal.
func sameTime(a, b *app.Time) bool {
	return a == b || a != nil && b != nil && a.Equal(b.Time)
}
