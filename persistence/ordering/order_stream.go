package ordering

import (
	"context"
	"encoding/json"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// notifyOrder notifies the listeners of [DB.ListenOrders] of a new or changed order, after the
// transaction of ctx is committed.
func notifyOrder(ctx context.Context, order app.Order) error {
	return notify(ctx, app.OrderNotice{
		StoreID: order.StoreID, ID: order.ID, Number: order.Number, Status: order.Status, Version: order.Version,
		UpdatedAt: order.UpdatedAt,
	})
}

// notifyItems is notifyOrder for an order of which an item was ticked or a slip was printed.
func notifyItems(ctx context.Context, order app.Order) error {
	return notify(ctx, app.OrderNotice{
		StoreID: order.StoreID, ID: order.ID, Number: order.Number, Status: order.Status, Version: order.Version,
		UpdatedAt: order.UpdatedAt, Items: true,
	})
}

// notifyReminder is notifyOrder for a reminder of an order that was not accepted.
func notifyReminder(ctx context.Context, order app.Order) error {
	return notify(ctx, app.OrderNotice{
		StoreID: order.StoreID, ID: order.ID, Number: order.Number, Status: order.Status, Version: order.Version,
		Reminder: true,
	})
}

func notify(ctx context.Context, n app.OrderNotice) error {
	notice, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return pg.Notify(ctx, delivery.OrdersChannel, string(notice))
}

// ListenOrders listens to the changes of the orders of all stores. It calls began once it receives notifications, then
// changed for each change. It returns when the connection breaks or ctx is done. A notice arrives shortly after its
// commit, possibly after the notice of a later version. A notice is lost if the process dies immediately after its
// commit; [DB.ChangedOrders] finds the missed changes.
func (db *DB) ListenOrders(ctx context.Context, began func(), changed func(app.OrderNotice)) error {
	return db.pg.Listen(ctx, pg.RoleApp, delivery.OrdersChannel, began, func(payload string) {
		var notice app.OrderNotice
		if json.Unmarshal([]byte(payload), &notice) == nil { // every login role of the database can notify
			changed(notice)
		}
	})
}

// ChangedOrders returns the orders of some stores that have changed since a time, the oldest change
// first, then those of which the store was reminded.
func (db *DB) ChangedOrders(ctx context.Context, stores []app.StoreID, since time.Time) ([]app.OrderNotice, error) {
	rows, err := db.pg.System().DB.QueryContext(ctx, `
		(SELECT store_id, id, number, status, version, updated_at, false AS reminder FROM orders
			WHERE store_id = ANY ($1::text[]) AND updated_at >= $2 ORDER BY updated_at)
		UNION ALL
		(SELECT o.store_id, o.id, o.number, o.status, o.version, NULL, true
			FROM acceptances a JOIN orders o ON o.id = a.order_id
			WHERE a.store_id = ANY ($1::text[]) AND a.reminded_at >= $2 ORDER BY a.reminded_at)`, stores, since)
	if err != nil {
		return nil, pg.Classify(err)
	}
	defer rows.Close()
	var changed []app.OrderNotice
	for rows.Next() {
		var n app.OrderNotice
		var updated *time.Time
		err := rows.Scan(&n.StoreID, &n.ID, &n.Number, &n.Status, &n.Version, &updated, &n.Reminder)
		if err != nil {
			return nil, err
		}
		if updated != nil {
			n.UpdatedAt = app.At(*updated)
		}
		changed = append(changed, n)
	}
	return changed, pg.Classify(rows.Err())
}
