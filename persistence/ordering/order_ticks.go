package ordering

import (
	"context"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// TickItem records that the kitchen has done an item of an order, or that it has not. A repetition keeps the first
// time. The order has no new version and emits no event; its updatedAt grows with each tick. It returns NOT_FOUND if
// the store has no such order, or the order has no such item.
func (db *DB) TickItem(
	ctx context.Context, now time.Time, store app.StoreID, id app.OrderID, item app.OrderItemID, done bool,
) (app.Order, error) {
	var ticked app.Order
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		row, items, err := lockOrderRow(ctx, tx, store, id)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(items, func(r itemRow) bool { return r.ID == item })
		if at < 0 {
			return app.NotFound()
		}
		if (items[at].DoneAt != nil) == done {
			ticked = row.order(items)
			return nil
		}
		updated := row.touch(now)
		items[at].DoneAt = nil
		if done {
			items[at].DoneAt = &updated
		}
		_, err = tx.Tx.ExecContext(ctx, `UPDATE order_items SET done_at = $4
			WHERE store_id = $1 AND order_id = $2 AND id = $3`, store, id, item, items[at].DoneAt)
		if err != nil {
			return err
		}
		_, err = tx.Tx.ExecContext(ctx, "UPDATE orders SET updated_at = $3 WHERE store_id = $1 AND id = $2", store, id,
			updated)
		if err != nil {
			return err
		}
		ticked = row.order(items)
		return notifyItems(ctx, ticked)
	})
	return ticked, err
}

// touch sets a later updatedAt, and returns it. Readers compare it if the version stays.
func (r *orderRow) touch(now time.Time) time.Time {
	r.UpdatedAt = app.At(r.UpdatedAt.Add(time.Millisecond)).OrLater(app.At(now)).Time
	return r.UpdatedAt
}
