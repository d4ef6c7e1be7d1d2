package ordering

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// productRow is a row of the table products.
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
	SoldOutUntil  *time.Time
	OptionGroups  pg.JSONList[app.OptionGroup] `bun:"type:jsonb"`
	Position      int64
	ExternalID    string            `bun:"external_id"`
	Metadata      map[string]string `bun:"type:jsonb"`
	Version       int64
	CreatedAt     time.Time
	UpdatedAt     time.Time
	DeletedAt     *time.Time
}

// product returns the product as of a time.
func (r productRow) product(now time.Time) app.Product {
	p := app.Product{
		ID: r.ID, StoreID: r.StoreID, SKU: r.SKU, Name: r.Name, Description: r.Description, Category: r.Category,
		ImageURL: r.ImageURL, PriceMinor: r.PriceMinor, Currency: r.Currency, Prices: r.Prices,
		Translations: r.Translations, TaxRatePPM: r.TaxRatePPM, IsAvailable: r.IsAvailable,
		StockQuantity: r.StockQuantity, SoldOutUntil: pg.TimeOrNil(r.SoldOutUntil), OptionGroups: r.OptionGroups,
		Position: r.Position, ExternalID: r.ExternalID, Metadata: r.Metadata, Version: r.Version,
		CreatedAt: app.At(r.CreatedAt), UpdatedAt: app.At(r.UpdatedAt),
		DeletedAt: pg.TimeOrNil(r.DeletedAt),
	}
	p.Orderable = p.OrderableAt(now)
	return p
}

// listedRow is a productRow whose JSON is not decoded.
type listedRow struct {
	productRow   `bun:",extend"`
	Prices       json.RawMessage `bun:"type:jsonb"`
	Translations json.RawMessage `bun:"type:jsonb"`
	OptionGroups json.RawMessage `bun:"type:jsonb"`
	Metadata     json.RawMessage `bun:"type:jsonb"`
}

func rowOfProduct(p app.Product) productRow {
	row := productRow{
		ID: p.ID, StoreID: p.StoreID, SKU: p.SKU, Name: p.Name, Description: p.Description, Category: p.Category,
		ImageURL: p.ImageURL, PriceMinor: p.PriceMinor, Currency: p.Currency, Prices: p.Prices,
		Translations: p.Translations, TaxRatePPM: p.TaxRatePPM, IsAvailable: p.IsAvailable,
		StockQuantity: p.StockQuantity, OptionGroups: p.OptionGroups, Position: p.Position, Version: p.Version,
		CreatedAt: p.CreatedAt.Time, UpdatedAt: p.UpdatedAt.Time,
	}
	row.ExternalID, row.Metadata = p.ExternalID, pg.Metadata(p.Metadata)
	if p.SoldOutUntil != nil {
		row.SoldOutUntil = &p.SoldOutUntil.Time
	}
	if row.Prices == nil {
		row.Prices = map[app.Currency]int64{}
	}
	if row.Translations == nil {
		row.Translations = map[string]app.ProductText{}
	}
	if row.OptionGroups == nil {
		row.OptionGroups = []app.OptionGroup{}
	}
	return row
}

// orderable is the condition of [app.Product.OrderableAt] on a product that is not deleted, with the time as its only
// argument.
const orderable = `(p.is_available AND (p.stock_quantity IS NULL OR p.stock_quantity > 0)
	AND (p.sold_out_until IS NULL OR p.sold_out_until <= ?))`

// Products lists a store's products, newest first. more reports whether further ones follow.
func (db *DB) Products(
	ctx context.Context, now time.Time, store app.StoreID, filter app.ProductFilter, after pg.Cursor,
	limit app.PageLimit,
) (products []app.ListedProduct, more bool, err error) {
	return db.listProducts(ctx, now, store, filter, limit, func(q *bun.SelectQuery) {
		q.OrderExpr("p.created_at DESC, p.id DESC")
		if after.ID != "" {
			q.Where("(p.created_at, p.id) < (?, ?)", after.At, after.ID)
		}
	})
}

// listProducts lists the products of a filter. page adds the order and the start of the page.
func (db *DB) listProducts(
	ctx context.Context, now time.Time, store app.StoreID, filter app.ProductFilter, limit app.PageLimit,
	page func(*bun.SelectQuery),
) (products []app.ListedProduct, more bool, err error) {
	var rows []listedRow
	err = db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) (err error) {
		q := tx.NewSelect().Model((*listedRow)(nil)).Where("p.store_id = ?", store).Limit(int64(limit.Rows) + 1)
		page(q)
		if !filter.Deleted {
			q.Where("p.deleted_at IS NULL")
		}
		if filter.Category != "" {
			q.Where("p.category = ?", filter.Category)
		}
		if filter.IsAvailable != nil {
			q.Where("p.is_available = ?", *filter.IsAvailable)
		}
		if filter.Orderable != nil {
			q.Where("(p.deleted_at IS NULL AND "+orderable+") = ?", now, *filter.Orderable)
		}
		if filter.UpdatedSince != nil {
			q.Where("p.updated_at >= ?", filter.UpdatedSince.Time)
		}
		if filter.ExternalID != "" {
			q.Where("p.external_id = ?", filter.ExternalID)
		}
		if filter.Query != "" {
			pattern := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(filter.Query) + "%"
			q.Where(`(p.name ILIKE ?0 OR p.sku ILIKE ?0 OR EXISTS (
				SELECT FROM jsonb_each(p.translations) t WHERE t.value->>'name' ILIKE ?0))`, pattern)
		}
		rows, more, err = pg.Page(ctx, q, limit, func(r listedRow) app.ProductID { return r.ID })
		return err
	})
	products = make([]app.ListedProduct, len(rows))
	for i, row := range rows {
		products[i] = app.ListedProduct{
			Product: row.product(now), Prices: row.Prices, Translations: row.Translations,
			OptionGroups: row.OptionGroups, Metadata: row.Metadata,
		}
	}
	return products, more, err
}

// Categories counts a store's products by category, ordered by the category names' code points. It
// starts after the category after. Products without a category are not counted.
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

// Product returns a product of a store, NOT_FOUND if there is no such product.
func (db *DB) Product(
	ctx context.Context, now time.Time, store app.StoreID, id app.ProductID,
) (app.Product, error) {
	var row productRow
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return tx.NewSelect().Model(&row).Where("p.store_id = ? AND p.id = ? AND p.deleted_at IS NULL", store, id).
			Scan(ctx)
	})
	return row.product(now), err
}

// CreateProduct adds a product to a store and emits product.created. It sets the id, the version and
// the times. It returns CONFLICT if another product has the SKU or the externalId, LIMIT_REACHED if the product is too
// large, and the errors of [pg.RunOnce].
func (db *DB) CreateProduct(
	ctx context.Context, now time.Time, store app.StoreID, p app.Product, once *pg.Once,
) (app.Product, error) {
	now = app.At(now).Time
	created, err := pg.CreateOnce(ctx, db.pg, store, once, now, func(ctx context.Context, tx bun.Tx) (app.Product, error) {
		p.ID, p.StoreID, p.Version = app.NewID[app.ProductID](now), store, 1
		p.CreatedAt, p.UpdatedAt = app.At(now), app.At(now)
		p.NewOptionIDs(now)
		row := rowOfProduct(p)
		if err := row.product(now).CheckSize(); err != nil {
			return app.Product{}, err
		}
		if _, err := tx.NewInsert().Model(&row).Exec(ctx); err != nil {
			return app.Product{}, skuTaken(err, p.SKU)
		}
		if err := enqueueSoldOut(ctx, tx, now, p); err != nil {
			return app.Product{}, err
		}
		return row.product(now), delivery.Emit(ctx, tx, now, store, app.EventProductCreated, row.product(now))
	})
	return created, db.pg.ExternalIDTaken(ctx, store, "products", p.ExternalID, err)
}

// ChangeProduct applies change to a product and emits product.updated. It records changed prices. It writes nothing if
// change changes nothing. It returns NOT_FOUND, VERSION_MISMATCH (version 0 matches every version), CONFLICT if another
// product has the SKU or the externalId, LIMIT_REACHED if the product is too large, and the errors of change.
func (db *DB) ChangeProduct(
	ctx context.Context, now time.Time, store app.StoreID, by app.Actor, id app.ProductID, version int64,
	change func(*app.Product) error,
) (app.Product, error) {
	now = app.At(now).Time
	var changed app.Product
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		before, err := lockProduct(ctx, tx, now, store, id, version)
		if err != nil {
			return err
		}
		changed = before
		if err := change(&changed); err != nil {
			return err
		}
		changed.Orderable = changed.OrderableAt(now)
		changed.NewOptionIDs(now)
		fields := before.Changes(changed)
		if len(fields) == 0 {
			return nil
		}
		changed = changed.Revised(now)
		if err := changed.CheckSize(); err != nil {
			return err
		}
		row := rowOfProduct(changed)
		if _, err := tx.NewUpdate().Model(&row).ExcludeColumn("id", "store_id", "created_at", "deleted_at").
			Where("store_id = ? AND id = ?", store, id).Exec(ctx); err != nil {
			return skuTaken(err, changed.SKU)
		}
		if details := before.PriceChanges(changed); details != nil {
			if err := pg.Audit(ctx, tx, now, store, by, app.AuditPricesChanged, string(id), details); err != nil {
				return err
			}
		}
		if slices.Contains(fields, "soldOutUntil") {
			if err := enqueueSoldOut(ctx, tx, now, changed); err != nil {
				return err
			}
		}
		return delivery.Emit(ctx, tx, now, store, app.EventProductUpdated,
			app.ProductUpdated{Product: changed, ChangedFields: fields})
	})
	return changed, db.pg.ExternalIDTaken(ctx, store, "products", changed.ExternalID, err)
}

// DeleteProduct deletes a product and emits product.updated with the changed field deletedAt. Orders
// keep their copies of the product's data. It returns NOT_FOUND, also if the product is already
// deleted, or VERSION_MISMATCH (version 0 matches every version).
func (db *DB) DeleteProduct(
	ctx context.Context, now time.Time, store app.StoreID, id app.ProductID, version int64,
) error {
	now = app.At(now).Time
	return db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		product, err := lockProduct(ctx, tx, now, store, id, version)
		if err != nil {
			return err
		}
		deleted := app.At(now)
		product = product.Revised(now)
		product.DeletedAt, product.Orderable = &deleted, false
		_, err = tx.NewRaw(`UPDATE products SET deleted_at = ?, updated_at = ?, version = ?
			WHERE store_id = ? AND id = ?`, now, product.UpdatedAt.Time, product.Version, store, id).Exec(ctx)
		if err != nil {
			return err
		}
		return delivery.Emit(ctx, tx, now, store, app.EventProductUpdated,
			app.ProductUpdated{Product: product, ChangedFields: []string{"deletedAt"}})
	})
}

// lockProduct locks a product until the end of the transaction. It returns NOT_FOUND or
// VERSION_MISMATCH (version 0 matches every version).
func lockProduct(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, id app.ProductID, version int64,
) (app.Product, error) {
	var row productRow
	err := tx.NewSelect().Model(&row).Where("p.store_id = ? AND p.id = ? AND p.deleted_at IS NULL", store, id).
		For("NO KEY UPDATE").Scan(ctx)
	if err == nil {
		err = pg.CheckVersion(version, row.Version)
	}
	return row.product(now), err
}

func skuTaken(err error, sku string) error {
	if pg.IsDuplicateIn(err, "products_by_sku") {
		return app.Errorf(app.CodeConflict, "another product already has the SKU %s", sku)
	}
	return err
}
