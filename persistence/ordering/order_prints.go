package ordering

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

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
	var found app.OrderItemChanges
	err := db.pg.SnapshotOf(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		orders, _, err := scanOrders(ctx, tx, store,
			selectOrders(tx).Where("o.store_id = ? AND o.id = ?", store, id), oneOrder)
		if err == nil && len(orders) == 0 {
			err = app.NotFound()
		}
		if err != nil {
			return err
		}
		now := orders[0]
		if err := checkReached("since", since, now.Version); err != nil {
			return err
		}
		made, err := changesSince(ctx, tx, now, since)
		found = app.NetChanges(made.Members, made.First, made.Before, now)
		found.Since = since
		return err
	})
	return found, err
}

// madeChanges are several changes of an order in total. Items that were neither there before them nor are there now are
// not among the items.
type madeChanges struct {
	Members pg.JSONList[string]         `bun:"type:jsonb"`
	First   pg.JSONList[app.ItemChange] `bun:"type:jsonb"` // of each item, without the item after it
	Before  *app.Amendable              `bun:"type:jsonb"` // the first one
}

// changesSince returns the changes of an order after a version. The database combines them, because each of them can be
// as large as the order.
func changesSince(ctx context.Context, tx bun.Tx, now app.Order, since int64) (made madeChanges, err error) {
	items := make([]app.OrderItemID, len(now.Items))
	for i, item := range now.Items {
		items[i] = item.ID
	}
	err = tx.NewRaw(`WITH made AS (
			SELECT version, changed_fields, item_changes, before FROM order_history
			WHERE store_id = ? AND order_id = ? AND version > ? AND version <= ? AND item_changes IS NOT NULL),
		first AS (
			SELECT DISTINCT ON (c ->> 'itemId') version, n, c - 'after' AS change
			FROM made CROSS JOIN jsonb_array_elements(item_changes) WITH ORDINALITY AS x (c, n)
			ORDER BY c ->> 'itemId', version)
		SELECT (SELECT before FROM made ORDER BY version LIMIT 1) AS before,
			(SELECT jsonb_agg(DISTINCT member) FROM made CROSS JOIN jsonb_array_elements_text(changed_fields) AS x (member))
				AS members,
			(SELECT jsonb_agg(change ORDER BY version, n) FROM first
				WHERE change -> 'before' IS NOT NULL OR change ->> 'itemId' = ANY (?)) AS first`,
		now.StoreID, now.ID, since, now.Version, pgdialect.Array(items)).Scan(ctx, &made)
	return made, err
}

func checkReached(member string, version, current int64) error {
	if version <= current {
		return nil
	}
	return app.Invalid(member, fmt.Sprintf("must be at most the version of the order, %d", current))
}
