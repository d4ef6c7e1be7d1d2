package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

// Operations of store views.
var (
	createStoreView = handle("createStoreView", (*Server).addView, app.CodeConflict, app.CodeLimitReached)
	updateStoreView = handle("updateStoreView", (*Server).changeView, app.CodeConflict)
	deleteStoreView = handle("deleteStoreView", (*Server).deleteView, app.CodeConflict)
)

type storeViewIn struct {
	Code      string       `json:"code" validate:"required,viewname"`
	Locale    string       `json:"locale" validate:"required,locale"`
	Currency  app.Currency `json:"currency" validate:"required,currency"`
	IsDefault bool         `json:"isDefault"`
}

func (in storeViewIn) view() app.StoreView {
	return app.StoreView{Code: in.Code, Locale: in.Locale, Currency: in.Currency, IsDefault: in.IsDefault}
}

func (s *Server) addView(ctx context.Context, c *call, in storeViewIn) (app.StoreView, error) {
	return s.db.AddView(ctx, c.now, c.principal.StoreID, c.actor(), in.view(), c.once)
}

type changeViewIn struct {
	ID        app.StoreViewID `path:"id"`
	Code      *string         `json:"code" validate:"omitempty,viewname"`
	Locale    *string         `json:"locale" validate:"omitempty,locale"`
	Currency  *app.Currency   `json:"currency" validate:"omitempty,currency"`
	IsDefault *bool           `json:"isDefault"`
}

func (s *Server) changeView(ctx context.Context, c *call, in changeViewIn) (app.StoreView, error) {
	return s.db.ChangeView(ctx, c.now, c.principal.StoreID, c.actor(), in.ID,
		app.StoreViewChange{Code: in.Code, Locale: in.Locale, Currency: in.Currency, IsDefault: in.IsDefault})
}

type viewIn struct {
	ID app.StoreViewID `path:"id"`
}

func (s *Server) deleteView(ctx context.Context, c *call, in viewIn) (nothing, error) {
	return nothing{}, s.db.DeleteView(ctx, c.now, c.principal.StoreID, c.actor(), in.ID)
}
