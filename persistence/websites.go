package persistence

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// NewWebsite is what it takes to open a website.
type NewWebsite struct {
	Name   string
	Domain string
	Plan   app.Plan
}

// NewStore is what it takes to open a store. The first view is the default.
type NewStore struct {
	Name         string
	CountryCode  string
	Timezone     string
	TaxRatePPM   int64
	TaxIncluded  bool
	DeliveryFees map[app.Currency]int64
	Views        []app.StoreView // ids are made here
}

// CreateWebsite opens a website with its stores. A domain already taken is CONFLICT.
func (db *DB) CreateWebsite(ctx context.Context, now time.Time, website NewWebsite, stores ...NewStore) (app.WebsiteID, []app.StoreID, error) {
	id := app.NewID[app.WebsiteID](now)
	var storeIDs []app.StoreID
	err := runTx(ctx, db.System(), func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewRaw(`INSERT INTO websites (id, name, domain, plan, created_at) VALUES (?, ?, ?, ?, ?)`,
			id, website.Name, website.Domain, website.Plan, now).Exec(ctx)
		if isDuplicate(err) {
			return app.Errorf(app.CodeConflict, "the domain %s belongs to another website", website.Domain)
		}
		if err != nil {
			return err
		}
		storeIDs = nil
		for i, store := range stores {
			// A millisecond apart: lists of stores are in the order of their making.
			storeID, err := createStore(ctx, tx, now.Add(time.Duration(i)*time.Millisecond), id, store)
			if err != nil {
				return err
			}
			storeIDs = append(storeIDs, storeID)
		}
		return nil
	})
	return id, storeIDs, err
}

func createStore(ctx context.Context, tx bun.Tx, now time.Time, website app.WebsiteID, store NewStore) (app.StoreID, error) {
	id := app.NewID[app.StoreID](now)
	if store.DeliveryFees == nil {
		store.DeliveryFees = map[app.Currency]int64{}
	}
	_, err := tx.NewRaw(`INSERT INTO stores (id, website_id, name, country_code, timezone, tax_rate_ppm, tax_included, tax_delivery_fee, delivery_fees, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, true, ?, ?)`,
		id, website, store.Name, store.CountryCode, store.Timezone, store.TaxRatePPM, store.TaxIncluded, store.DeliveryFees, now).Exec(ctx)
	if err != nil {
		return "", err
	}
	for i, view := range store.Views {
		_, err := tx.NewRaw(`INSERT INTO store_views (id, store_id, code, locale, currency, is_default) VALUES (?, ?, ?, ?, ?, ?)`,
			app.NewID[app.StoreViewID](now), id, view.Code, view.Locale, view.Currency, i == 0).Exec(ctx)
		if err != nil {
			return "", err
		}
	}
	return id, nil
}
