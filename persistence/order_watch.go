package persistence

import (
	"context"
	"encoding/json"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// ordersChannel is what commits that change an order notify.
const ordersChannel = "comanda_orders"

// announce tells those who listen, when the transaction commits, that an order is new or has
// changed.
func announce(ctx context.Context, tx bun.Tx, order app.Order) error {
	notice, err := json.Marshal(app.OrderNotice{StoreID: order.StoreID, ID: order.ID, Number: order.Number, Status: order.Status, Version: order.Version})
	if err != nil {
		return err
	}
	_, err = tx.Tx.ExecContext(ctx, "SELECT pg_notify($1, $2)", ordersChannel, string(notice))
	return err
}

// ListenOrders calls began once it hears of the changes of every store's orders, then heard
// with each, in the order of the commits. It returns when the connection breaks or ctx is
// done; what was changed after that is not made up for.
func (db *DB) ListenOrders(ctx context.Context, began func(), heard func(app.OrderNotice)) error {
	return db.pg.Listen(ctx, pg.RoleApp, ordersChannel, began, func(payload string) {
		var notice app.OrderNotice
		if json.Unmarshal([]byte(payload), &notice) == nil { // whoever may connect may notify
			heard(notice)
		}
	})
}
