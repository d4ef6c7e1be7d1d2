package persistence

import (
	"context"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/pg"
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

func rowOfProduct(p app.Product) productRow {
	row := productRow{
		ID: p.ID, StoreID: p.StoreID, SKU: p.SKU, Name: p.Name, Description: p.Description, Category: p.Category,
		ImageURL: p.ImageURL, PriceMinor: p.PriceMinor, Currency: p.Currency, Prices: p.Prices, Translations: p.Translations,
		TaxRatePPM: p.TaxRatePPM, IsAvailable: p.IsAvailable, StockQuantity: p.StockQuantity, Version: p.Version,
		CreatedAt: p.CreatedAt.Time, UpdatedAt: p.UpdatedAt.Time,
	}
	if row.Prices == nil {
		row.Prices = map[app.Currency]int64{}
	}
	if row.Translations == nil {
		row.Translations = map[string]app.ProductText{}
	}
	return row
}

// Products lists a store's products, the newest first, at most limit of them, from after
// the one named (its zero value = from the start).
func (db *DB) Products(ctx context.Context, store app.StoreID, filter app.ProductFilter, after Cursor, limit int) ([]app.Product, error) {
	var rows []productRow
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
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

// Categories counts the products of a store's menu by category, in the order of the names'
// characters, at most limit of them, from after the one named ("" = from the start). What has
// no category is not among them.
func (db *DB) Categories(ctx context.Context, store app.StoreID, after string, limit int) ([]app.Category, error) {
	var categories []app.Category
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		categories = []app.Category{}
		return tx.NewSelect().TableExpr("products AS p").ColumnExpr("p.category AS name, count(*) AS products").
			Where("p.store_id = ? AND p.deleted_at IS NULL", store).Where(`p.category COLLATE "C" > ?`, after).
			GroupExpr("p.category").OrderExpr(`p.category COLLATE "C"`).Limit(int64(limit)).Scan(ctx, &categories)
	})
	return categories, err
}

// Product returns a product of a store, NOT_FOUND if it has none of that id.
func (db *DB) Product(ctx context.Context, store app.StoreID, id app.ProductID) (app.Product, error) {
	var row productRow
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return tx.NewSelect().Model(&row).Where("p.store_id = ? AND p.id = ? AND p.deleted_at IS NULL", store, id).Scan(ctx)
	})
	return row.product(), err
}

// CreateProduct adds a product to the menu and tells of it: product.created. Times, id and
// version are made here. It returns CONFLICT when the SKU is taken, and what
// Idempotency-Keys can lead to; render makes the answer that is stored for once.
func (db *DB) CreateProduct(ctx context.Context, now time.Time, store app.StoreID, p app.Product, once *Once, render func(app.Product) any) (app.Product, error) {
	now = app.At(now).Time
	return pg.CreateOnce(ctx, db.pg, store, once, now, func(ctx context.Context, tx bun.Tx) (app.Product, error) {
		p.ID, p.StoreID, p.Version, p.CreatedAt, p.UpdatedAt = app.NewID[app.ProductID](now), store, 1, app.At(now), app.At(now)
		row := rowOfProduct(p)
		if _, err := tx.NewInsert().Model(&row).Exec(ctx); err != nil {
			return app.Product{}, skuTaken(err, p.SKU)
		}
		return row.product(), delivery.Emit(ctx, tx, now, store, app.EventProductCreated, row.product())
	}, render)
}

// ChangeProduct changes a product as change does and tells of it: product.updated. Nothing
// changed changes nothing. It returns NOT_FOUND, VERSION_MISMATCH (version 0 is any), CONFLICT
// when the SKU is taken, and what change returns.
func (db *DB) ChangeProduct(ctx context.Context, now time.Time, store app.StoreID, id app.ProductID, version int64, change func(*app.Product) error) (app.Product, error) {
	now = app.At(now).Time
	var changed app.Product
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		before, err := lockProduct(ctx, tx, store, id, version)
		if err != nil {
			return err
		}
		changed = before
		if err := change(&changed); err != nil {
			return err
		}
		fields := before.Changes(changed)
		if len(fields) == 0 {
			return nil
		}
		changed.Version, changed.UpdatedAt = before.Version+1, app.At(now)
		row := rowOfProduct(changed)
		if _, err := tx.NewUpdate().Model(&row).ExcludeColumn("id", "store_id", "created_at").
			Where("store_id = ? AND id = ?", store, id).Exec(ctx); err != nil {
			return skuTaken(err, changed.SKU)
		}
		return delivery.Emit(ctx, tx, now, store, app.EventProductUpdated, app.ProductUpdated{Product: changed, ChangedFields: fields})
	})
	return changed, err
}

// DeleteProduct takes a product off the menu for good and tells of it: product.updated with
// the changed field deletedAt. Orders keep what they know of it. It returns NOT_FOUND, also
// the second time, or VERSION_MISMATCH (version 0 is any).
func (db *DB) DeleteProduct(ctx context.Context, now time.Time, store app.StoreID, id app.ProductID, version int64) error {
	now = app.At(now).Time
	return db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		product, err := lockProduct(ctx, tx, store, id, version)
		if err != nil {
			return err
		}
		product.Version, product.UpdatedAt = product.Version+1, app.At(now)
		if _, err := tx.NewRaw("UPDATE products SET deleted_at = ?0, updated_at = ?0, version = ?1 WHERE store_id = ?2 AND id = ?3",
			now, product.Version, store, id).Exec(ctx); err != nil {
			return err
		}
		return delivery.Emit(ctx, tx, now, store, app.EventProductUpdated, app.ProductUpdated{Product: product, ChangedFields: []string{"deletedAt"}})
	})
}

// lockProduct keeps a product from being changed by others. It returns NOT_FOUND, or
// VERSION_MISMATCH when version is not 0 and not the product's.
func lockProduct(ctx context.Context, tx bun.Tx, store app.StoreID, id app.ProductID, version int64) (app.Product, error) {
	var row productRow
	err := tx.NewSelect().Model(&row).Where("p.store_id = ? AND p.id = ? AND p.deleted_at IS NULL", store, id).For("NO KEY UPDATE").Scan(ctx)
	if err == nil {
		err = pg.CheckVersion(version, row.Version)
	}
	return row.product(), err
}

func skuTaken(err error, sku string) error {
	if pg.IsDuplicate(err) {
		return app.Errorf(app.CodeConflict, "there is a product with the SKU %s already", sku)
	}
	return err
}
