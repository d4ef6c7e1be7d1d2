package ordering

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// ChangeStock changes the stock of a product. It emits product.updated if the product becomes orderable or is no longer
// orderable. It returns NOT_FOUND, VERSION_MISMATCH (version 0 matches every version), the errors of
// [app.StockChange.Apply], and those of [pg.RunOnce].
func (db *DB) ChangeStock(
	ctx context.Context, now time.Time, store app.StoreID, id app.ProductID, version int64, change app.StockChange,
	once *pg.Once,
) (app.Product, error) {
	now = app.At(now).Time
	return pg.CreateOnce(ctx, db.pg, store, once, now, func(ctx context.Context, tx bun.Tx) (app.Product, error) {
		before, err := lockProduct(ctx, tx, now, store, id, version)
		if err != nil {
			return app.Product{}, err
		}
		after := before
		if after.StockQuantity, err = change.Apply(before.StockQuantity); err != nil {
			return app.Product{}, err
		}
		after.Orderable = after.OrderableAt(now)
		if len(before.Changes(after)) == 0 {
			return before, nil
		}
		after = after.Revised(now)
		_, err = tx.NewRaw(`UPDATE products SET stock_quantity = ?, version = ?, updated_at = ?
			WHERE store_id = ? AND id = ?`, after.StockQuantity, after.Version, after.UpdatedAt.Time, store,
			id).Exec(ctx)
		if err != nil {
			return app.Product{}, err
		}
		return after, emitIfOrderableChanged(ctx, tx, now, before, after)
	})
}

// emitIfOrderableChanged emits product.updated if a change of stock makes a product orderable, or no longer orderable.
func emitIfOrderableChanged(ctx context.Context, tx bun.Tx, now time.Time, before, after app.Product) error {
	if before.Orderable == after.Orderable {
		return nil
	}
	return delivery.Emit(ctx, tx, now, after.StoreID, app.EventProductUpdated,
		app.ProductUpdated{Product: after, ChangedFields: before.Changes(after)})
}

// takeStock subtracts the ordered quantities from the stock. It does so by product id, so that concurrent orders do not
// deadlock. It marks the items whose quantity was subtracted; a product that the store has stopped counting meanwhile
// is not marked.
func takeStock(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, need []counted, items []itemRow,
) error {
	for _, c := range need {
		left, err := addStock(ctx, tx, now, store, c.product, -c.quantity)
		if app.CodeOf(pg.Classify(err)) == app.CodeNotFound {
			return c.outOfStock()
		}
		if err != nil {
			return err
		}
		for i := range items {
			if items[i].ProductID == c.product && left != nil {
				items[i].StockTaken = items[i].Quantity
			}
		}
	}
	return nil
}

// returnStock returns the items of a cancelled order to stock, by product id.
func returnStock(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, items []itemRow) error {
	quantities := map[app.ProductID]int64{}
	for _, item := range items {
		if item.StockTaken > 0 {
			quantities[item.ProductID] += item.StockTaken
		}
	}
	for _, id := range slices.Sorted(maps.Keys(quantities)) {
		if _, err := addStock(ctx, tx, now, store, id, quantities[id]); err != nil {
			return err
		}
	}
	return nil
}

// moveStock changes the stock by the differences between the quantities of products in an order, by product id. Only
// units that were taken return. It sets the taken units of the new items. first is the index of the first item of the
// request that needs more of a product.
func moveStock(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, before, after []itemRow,
	first map[app.ProductID]int,
) error {
	type amounts struct{ more, taken int64 }
	products := map[app.ProductID]amounts{}
	for _, item := range before {
		p := products[item.ProductID]
		products[item.ProductID] = amounts{p.more - item.Quantity, p.taken + item.StockTaken}
	}
	for _, item := range after {
		p := products[item.ProductID]
		products[item.ProductID] = amounts{p.more + item.Quantity, p.taken}
	}
	delete(products, "") // ad hoc lines
	for _, id := range slices.Sorted(maps.Keys(products)) {
		more, taken := products[id].more, products[id].taken
		if more < 0 {
			more = -min(taken, -more)
		}
		if more != 0 {
			left, err := addStock(ctx, tx, now, store, id, -more)
			if app.CodeOf(pg.Classify(err)) == app.CodeNotFound {
				return counted{product: id, first: first[id]}.outOfStock()
			}
			if err != nil {
				return err
			}
			if left != nil || more < 0 {
				taken += more
			}
		}
		for i := range after {
			if after[i].ProductID == id {
				after[i].StockTaken = min(taken, after[i].Quantity)
				taken -= after[i].StockTaken
			}
		}
	}
	return nil
}

// addStock adds a quantity, which can be negative, to the stock of a product and returns the new stock. An uncounted
// stock stays nil. It emits product.updated if the product becomes orderable or stops being so. It returns NOT_FOUND if
// the stock is too small. A request that has waited for another one keeps the later updatedAt.
func addStock(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, id app.ProductID, quantity int64,
) (left *int64, err error) {
	err = tx.Tx.QueryRowContext(ctx, `UPDATE products SET stock_quantity = stock_quantity + $1,
			version = version + CASE WHEN stock_quantity IS NULL THEN 0 ELSE 1 END,
			updated_at = CASE WHEN stock_quantity IS NULL THEN updated_at ELSE greatest(updated_at, $2) END
		WHERE store_id = $3 AND id = $4 AND (stock_quantity + $1 >= 0 OR stock_quantity IS NULL)
		RETURNING stock_quantity`, quantity, now, store, id).Scan(&left)
	if err != nil || left == nil || (*left > 0) == (*left-quantity > 0) {
		return left, err
	}
	var row productRow
	if err := tx.NewSelect().Model(&row).Where("p.store_id = ? AND p.id = ?", store, id).Scan(ctx); err != nil {
		return left, err
	}
	before, after := row.product(now), row.product(now)
	before.StockQuantity = new(*left - quantity)
	before.Orderable = before.OrderableAt(now)
	return left, emitIfOrderableChanged(ctx, tx, now, before, after)
}

// enqueueSoldOut enqueues the job that reports the end of a product's soldOutUntil.
func enqueueSoldOut(ctx context.Context, tx bun.Tx, now time.Time, p app.Product) error {
	if p.SoldOutUntil == nil {
		return nil
	}
	return delivery.EnqueueJob(ctx, tx, now, p.StoreID, app.JobSoldOut, string(p.ID))
}

// EndSoldOut clears soldOutUntil of a product if it has passed, and emits product.updated. Otherwise it returns the
// time until soldOutUntil, 0 if the product is not sold out or is deleted.
func (db *DB) EndSoldOut(
	ctx context.Context, now time.Time, store app.StoreID, id app.ProductID,
) (wait time.Duration, err error) {
	now = app.At(now).Time
	err = db.deadlines.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		wait = 0
		before, err := lockProduct(ctx, tx, now, store, id, 0)
		if app.CodeOf(pg.Classify(err)) == app.CodeNotFound {
			return nil
		}
		if err != nil || before.SoldOutUntil == nil {
			return err
		}
		if wait = before.SoldOutUntil.Sub(now); wait > 0 {
			return nil
		}
		wait = 0
		before.Orderable = false // to subscribers, which have learned only that it is sold out
		after := before.Revised(now)
		after.SoldOutUntil = nil
		after.Orderable = after.OrderableAt(now)
		_, err = tx.NewRaw(`UPDATE products SET sold_out_until = NULL, version = ?, updated_at = ?
			WHERE store_id = ? AND id = ?`, after.Version, after.UpdatedAt.Time, store, id).Exec(ctx)
		if err != nil {
			return err
		}
		return delivery.Emit(ctx, tx, now, store, app.EventProductUpdated,
			app.ProductUpdated{Product: after, ChangedFields: before.Changes(after)})
	})
	return wait, err
}
