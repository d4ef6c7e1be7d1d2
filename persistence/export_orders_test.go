package persistence

import (
	"context"
	"strings"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// ExplainOrders returns the plan of a list of orders, as it ran.
func (db *DB) ExplainOrders(ctx context.Context, store app.StoreID, customer app.CustomerID, filter app.OrderFilter, after Cursor) (plan string, err error) {
	err = db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		var rows []orderRow
		var lines []string
		err := tx.NewRaw("EXPLAIN (ANALYZE, BUFFERS) ?", listOrders(tx, &rows, store, customer, filter, after, 21)).Scan(ctx, &lines)
		plan = strings.Join(lines, "\n")
		return err
	})
	return plan, err
}
