package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

type productsIn struct {
	StoreID      app.StoreID `query:"storeId" validate:"omitempty,id" description:"If given, it must be the store of the token."`
	Category     string      `query:"category" validate:"max=100"`
	IsAvailable  *bool       `query:"isAvailable"`
	Query        string      `query:"q" validate:"max=200" description:"Found in the name, the SKU or a translated name, in any case."`
	UpdatedSince *app.Time   `query:"updatedSince" description:"Changed at that time or later."`
	Limit        int         `query:"limit" default:"20" validate:"min=1,max=100"`
	Cursor       string      `query:"cursor" validate:"max=512" description:"nextCursor of the page before, with the same filters."`
}

// products shows the menu in the language and the currency of the caller's store view.
func (s *Server) products(ctx context.Context, c *call, in productsIn) (list[app.Product, cursorMeta], error) {
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[app.Product, cursorMeta]{}, err
	}
	filter := app.ProductFilter{Category: in.Category, IsAvailable: in.IsAvailable, Query: in.Query, UpdatedSince: in.UpdatedSince}
	found, err := s.db.Products(ctx, c.principal.StoreID, filter, timeCursor(position), in.Limit+1)
	for i := range found {
		found[i] = found[i].In(c.principal.View)
	}
	return paged(s, c, found, in.Limit, func(p app.Product) string { return timePosition(p.CreatedAt, string(p.ID)) }), err
}
