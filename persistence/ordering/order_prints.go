package ordering

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// PrintedOrder records that a slip of a version of an order was printed. The latest such version counts. The order has
// no new version and emits no event; its updatedAt grows if a later version was printed. It returns NOT_FOUND, and
// VALIDATION_FAILED for a version that the order does not have yet.
func (db *DB) PrintedOrder(
	ctx context.Context, now time.Time, store app.StoreID, id app.OrderID, version int64,
) (app.Order, error) {
	var printed app.Order
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		row, items, err := lockOrderRow(ctx, tx, store, id)
		if err != nil {
			return err
		}
		if err := checkReached("version", version, row.Version); err != nil {
			return err
		}
		if row.PrintedVersion != nil && *row.PrintedVersion >= version {
			printed = row.order(items)
			return nil
		}
		row.PrintedVersion = &version
		row.touch(now)
		_, err = tx.Tx.ExecContext(ctx, `UPDATE orders SET printed_version = $3, updated_at = $4
			WHERE store_id = $1 AND id = $2`, store, id, version, row.UpdatedAt)
		if err != nil {
			return err
		}
		printed = row.order(items)
		return notifyItems(ctx, printed)
	})
	return printed, err
}

// OrderItemChanges returns the differences between an order in an earlier version and now. It returns
// NOT_FOUND, and VALIDATION_FAILED for a version that the order does not have yet.
func (db *DB) OrderItemChanges(
	ctx context.Context, store app.StoreID, id app.OrderID, since int64,
) (app.OrderItemChanges, error) {
	found := app.OrderItemChanges{Since: since}
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		var rows []struct {
			Version       int64
			ChangedFields pg.JSONList[string]         `bun:"type:jsonb"`
			ItemChanges   pg.JSONList[app.ItemChange] `bun:"type:jsonb"`
		}
		err := tx.NewRaw(`SELECT o.version, h.changed_fields, h.item_changes FROM orders o LEFT JOIN order_history h
				ON h.store_id = o.store_id AND h.order_id = o.id AND h.version > ?2 AND h.item_changes IS NOT NULL
			WHERE o.store_id = ?0 AND o.id = ?1 ORDER BY h.version`, store, id, since).Scan(ctx, &rows)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return app.NotFound()
		}
		var changes []app.ItemChange
		found.ChangedFields = []string{}
		for _, row := range rows {
			changes = append(changes, row.ItemChanges...)
			found.ChangedFields = append(found.ChangedFields, row.ChangedFields...)
		}
		slices.Sort(found.ChangedFields)
		found.ChangedFields = slices.Compact(found.ChangedFields)
		found.Version, found.ItemChanges = rows[0].Version, app.NetItemChanges(changes)
		return checkReached("since", since, found.Version)
	})
	return found, err
}

func checkReached(member string, version, current int64) error {
	if version <= current {
		return nil
	}
	return app.Invalid(member, fmt.Sprintf("must be at most the version of the order, %d", current))
}
