package persistence

import (
	"context"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// productRow is a product as its table holds it.
type productRow struct {
	bun.BaseModel `bun:"table:products,alias:p"`

	ID            app.ProductID `bun:",pk"`
	StoreID       app.StoreID
	SKU           string `bun:"sku"`
	Name          string
	Description   string
	Category      string
	ImageURL      string `bun:"image_url"`
	PriceMinor    int64
	Currency      app.Currency
	Prices        map[app.Currency]int64     `bun:"type:jsonb"`
	Translations  map[string]app.ProductText `bun:"type:jsonb"`
	TaxRatePPM    *int64                     `bun:"tax_rate_ppm"`
	IsAvailable   bool
	StockQuantity *int64
	Version       int64
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

func (r productRow) product() app.Product {
	return app.Product{
		ID: r.ID, StoreID: r.StoreID, SKU: r.SKU, Name: r.Name, Description: r.Description, Category: r.Category,
		ImageURL: r.ImageURL, PriceMinor: r.PriceMinor, Currency: r.Currency, Prices: r.Prices, Translations: r.Translations,
		TaxRatePPM: r.TaxRatePPM, IsAvailable: r.IsAvailable, StockQuantity: r.StockQuantity, Version: r.Version,
		CreatedAt: app.At(r.CreatedAt), UpdatedAt: app.At(r.UpdatedAt),
	}
}

// Products lists a store's products, the newest first, at most limit of them, from after
// the one named (its zero value = from the start).
func (db *DB) Products(ctx context.Context, store app.StoreID, filter app.ProductFilter, after Cursor, limit int) ([]app.Product, error) {
	var rows []productRow
	err := db.inStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		rows = nil
		q := tx.NewSelect().Model(&rows).Where("p.store_id = ? AND p.deleted_at IS NULL", store).
			OrderExpr("p.created_at DESC, p.id DESC").Limit(int64(limit))
		if after.ID != "" {
			q.Where("(p.created_at, p.id) < (?, ?)", after.At, after.ID)
		}
		if filter.Category != "" {
			q.Where("p.category = ?", filter.Category)
		}
		if filter.IsAvailable != nil {
			q.Where("p.is_available = ?", *filter.IsAvailable)
		}
		if filter.UpdatedSince != nil {
			q.Where("p.updated_at >= ?", filter.UpdatedSince.Time)
		}
		if filter.Query != "" {
			pattern := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(filter.Query) + "%"
			q.Where(`(p.name ILIKE ?0 OR p.sku ILIKE ?0 OR EXISTS (
				SELECT FROM jsonb_each(p.translations) t WHERE t.value->>'name' ILIKE ?0))`, pattern)
		}
		return q.Scan(ctx)
	})
	products := make([]app.Product, len(rows))
	for i, row := range rows {
		products[i] = row.product()
	}
	return products, err
}

// CreateProduct adds a product to the menu, with its event. Times, id and version are made
// here.
func (db *DB) CreateProduct(ctx context.Context, now time.Time, store app.StoreID, p app.Product) (app.Product, error) {
	at := app.At(now).Time
	row := productRow{
		ID: app.NewID[app.ProductID](now), StoreID: store, SKU: p.SKU, Name: p.Name, Description: p.Description, Category: p.Category,
		ImageURL: p.ImageURL, PriceMinor: p.PriceMinor, Currency: p.Currency, Prices: p.Prices, Translations: p.Translations,
		TaxRatePPM: p.TaxRatePPM, IsAvailable: p.IsAvailable, StockQuantity: p.StockQuantity, Version: 1, CreatedAt: at, UpdatedAt: at,
	}
	if row.Prices == nil {
		row.Prices = map[app.Currency]int64{}
	}
	if row.Translations == nil {
		row.Translations = map[string]app.ProductText{}
	}
	err := db.inStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.NewInsert().Model(&row).Exec(ctx); err != nil {
			if isDuplicate(err) {
				return app.Errorf(app.CodeConflict, "there is a product with the SKU %s already", p.SKU)
			}
			return err
		}
		return emit(ctx, tx, now, store, app.EventProductCreated, row.product())
	})
	return row.product(), err
}

// Cursor is where a page of a list ended. Its zero value is the start.
type Cursor struct {
	At time.Time
	ID string
}
