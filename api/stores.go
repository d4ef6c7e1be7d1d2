package api

import (
	"context"
	"fmt"
	"slices"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// Operations of stores.
var (
	getStore    = handle("getStore", (*Server).store)
	createStore = handle("createStore", (*Server).addStore, app.CodeLimitReached)
	updateStore = handle("updateStore", (*Server).changeStore, app.CodeConflict)
)

func (s *Server) store(ctx context.Context, c *call, _ storeParam) (app.Store, error) {
	store, err := s.db.Store(ctx, c.now, c.principal.StoreID)
	return store.As(c.principal), err
}

type addStoreIn struct {
	StoreName   string        `json:"storeName" validate:"required,notblank,name"`
	CountryCode string        `json:"countryCode" validate:"required,iso3166_1_alpha2"`
	Timezone    string        `json:"timezone" validate:"required,timezone"`
	StoreViews  []storeViewIn `json:"storeViews" validate:"required,storeviews"`
}

func (in addStoreIn) check() (faults []app.Detail) {
	codes, defaults := map[string]bool{}, 0
	for i, view := range in.StoreViews {
		if codes[view.Code] {
			faults = append(faults, app.Detail{
				Path: fmt.Sprintf("storeViews[%d].code", i), Message: "is a duplicate of another view",
			})
		}
		codes[view.Code] = true
		if view.IsDefault {
			defaults++
		}
	}
	if len(in.StoreViews) > 0 && defaults != 1 {
		faults = append(faults, app.Detail{Path: "storeViews", Message: "must have exactly one view with isDefault"})
	}
	return faults
}

// newStore returns the store to create, with the default view first.
func (in addStoreIn) newStore() identity.NewStore {
	store := identity.NewStore{Name: in.StoreName, CountryCode: in.CountryCode, Timezone: in.Timezone}
	for _, view := range in.StoreViews {
		store.Views = append(store.Views, view.view())
	}
	slices.SortStableFunc(store.Views, func(a, b app.StoreView) int {
		switch {
		case a.IsDefault == b.IsDefault:
			return 0
		case a.IsDefault:
			return -1
		}
		return 1
	})
	return store
}

// addStore creates a further store of the website. The caller becomes its OWNER.
func (s *Server) addStore(ctx context.Context, c *call, in addStoreIn) (app.Store, error) {
	store, err := s.db.AddStore(ctx, c.now, c.principal, c.actor(), in.newStore(), c.once)
	return store.As(app.Principal{Role: app.RoleOwner}), err
}

type changeStoreIn struct {
	StoreName   *string `json:"storeName" validate:"omitempty,notblank,name"`
	CountryCode *string `json:"countryCode" validate:"omitempty,iso3166_1_alpha2"`
}

func (s *Server) changeStore(ctx context.Context, c *call, in changeStoreIn) (app.Store, error) {
	store, err := s.db.ChangeStore(ctx, c.now, c.principal.StoreID, c.actor(),
		app.StoreChange{Name: in.StoreName, CountryCode: in.CountryCode})
	return store.As(c.principal), err
}
