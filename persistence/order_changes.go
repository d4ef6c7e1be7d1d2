package persistence

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// historyRow is a line of an order's history as its table holds it.
type historyRow struct {
	bun.BaseModel `bun:"table:order_history,alias:h"`

	OrderID    app.OrderID
	StoreID    app.StoreID
	Version    int64
	FromStatus *app.OrderStatus
	ToStatus   app.OrderStatus
	Reason     string
	ActorRealm app.Realm
	ActorID    string
	ActorName  string `bun:",scanonly"`
	EventID    app.EventID
	At         time.Time
}

func (r historyRow) change() app.OrderChange {
	return app.OrderChange{
		Actor: app.OrderActor{Realm: r.ActorRealm, ID: r.ActorID, Name: r.ActorName}, From: r.FromStatus, To: r.ToStatus, Reason: r.Reason,
		EventID: r.EventID, At: app.At(r.At),
	}
}

// ChangeOrderStatus takes an order a step on and tells of it: order.status_updated, and
// order.completed or order.cancelled. The status that it has already changes nothing. What is
// cancelled goes back into stock and no longer counts for its customer. It returns NOT_FOUND,
// VERSION_MISMATCH (version 0 is any) or INVALID_TRANSITION.
func (db *DB) ChangeOrderStatus(ctx context.Context, now time.Time, store app.StoreID, id app.OrderID, version int64, change app.OrderStatusChange) (app.Order, error) {
	now = app.At(now).Time
	var moved app.Order
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		order, items, err := lockOrder(ctx, tx, store, id)
		if err != nil {
			return err
		}
		if err := pg.CheckVersion(version, order.Version); err != nil {
			return err
		}
		if moved, err = order.Moved(change, app.At(now)); err != nil || moved.Status == order.Status {
			return err
		}
		if moved.Status == app.OrderCancelled {
			if err := undoOrder(ctx, tx, moved, items); err != nil {
				return err
			}
		}
		_, err = tx.NewRaw(`UPDATE orders SET status = ?, previous_status = ?, cancellation_reason = ?, version = ?, updated_at = ?
			WHERE store_id = ? AND id = ?`, moved.Status, moved.PreviousStatus, moved.CancellationReason, moved.Version, now, store, id).Exec(ctx)
		if err != nil {
			return err
		}
		if err := settlePoints(ctx, tx, now, moved, app.PointsEarned, ""); err != nil {
			return err
		}
		return tellOfStatus(ctx, tx, now, moved, change.By)
	})
	return moved, err
}

// lockOrder keeps an order from being changed by others, NOT_FOUND if the store has none of
// that id. Whoever locks anything else as well locks the order first, then products in the
// order of their ids, then the customer, and at last what analytics add up.
func lockOrder(ctx context.Context, tx bun.Tx, store app.StoreID, id app.OrderID) (app.Order, []itemRow, error) {
	var rows []orderRow
	q := selectOrders(tx, &rows).Where("o.store_id = ? AND o.id = ?", store, id).For("NO KEY UPDATE")
	found, items, err := scanOrders(ctx, tx, store, q, &rows)
	if err == nil && len(found) == 0 {
		err = app.NotFound()
	}
	if err != nil {
		return app.Order{}, nil, err
	}
	return found[0], items, nil
}

// undoOrder takes back what placing the order did to stock and to its customer's count.
func undoOrder(ctx context.Context, tx bun.Tx, order app.Order, items []itemRow) error {
	slices.SortStableFunc(items, func(a, b itemRow) int { return strings.Compare(string(a.ProductID), string(b.ProductID)) })
	for _, item := range items {
		if !item.StockTaken {
			continue
		}
		if _, err := tx.NewRaw("UPDATE products SET stock_quantity = stock_quantity + ? WHERE store_id = ? AND id = ?",
			item.Quantity, order.StoreID, item.ProductID).Exec(ctx); err != nil {
			return err
		}
	}
	_, err := tx.NewRaw("UPDATE customers SET total_orders = total_orders - 1 WHERE store_id = ? AND id = ?", order.StoreID, order.Customer.ID).Exec(ctx)
	return err
}

// tellOfStatus writes the events of an order's new status, and its history. The ids of the
// events sort in the order of the spec's table.
func tellOfStatus(ctx context.Context, tx bun.Tx, now time.Time, order app.Order, by app.Actor) error {
	event, err := delivery.Emitted(ctx, tx, now, order.StoreID, app.EventOrderStatusUpdated, app.OrderStatusUpdated{Order: order, NewStatus: order.Status})
	if err != nil {
		return err
	}
	if further, ok := map[app.OrderStatus]app.EventType{app.OrderCompleted: app.EventOrderCompleted, app.OrderCancelled: app.EventOrderCancelled}[order.Status]; ok {
		if err := delivery.Emit(ctx, tx, now.Add(time.Microsecond), order.StoreID, further, order); err != nil {
			return err
		}
	}
	return remember(ctx, tx, order, by, event)
}

// remember adds the order's newest status to its history.
func remember(ctx context.Context, tx bun.Tx, order app.Order, by app.Actor, event app.EventID) error {
	err := pg.InsertPrepared(ctx, tx, historyRow{
		OrderID: order.ID, StoreID: order.StoreID, Version: order.Version, FromStatus: order.PreviousStatus, ToStatus: order.Status,
		Reason: order.CancellationReason, ActorRealm: by.Realm, ActorID: by.ID, EventID: event, At: order.UpdatedAt.Time,
	})
	if err != nil {
		return err
	}
	return announce(ctx, tx, order)
}

// OrderHistory returns what became of an order, the oldest first, NOT_FOUND if the store has
// none of that id. A customer, if not "", sees own orders only. Actors have the names that
// they have now; those of platform administrators are no restaurant's business.
func (db *DB) OrderHistory(ctx context.Context, store app.StoreID, id app.OrderID, customer app.CustomerID) ([]app.OrderChange, error) {
	var rows []historyRow
	err := db.System().NewRaw(`
		SELECT h.from_status, h.to_status, h.reason, h.actor_realm, h.actor_id, coalesce(u.name, k.name, '') AS actor_name, h.event_id, h.at
		FROM orders o JOIN order_history h ON h.store_id = o.store_id AND h.order_id = o.id
			LEFT JOIN users u ON h.actor_realm = ?3 AND u.id = h.actor_id
			LEFT JOIN api_keys k ON h.actor_realm = ?4 AND k.id = h.actor_id AND k.store_id = h.store_id
		WHERE o.store_id = ?0 AND o.id = ?1 AND (?2 = '' OR o.customer_id = ?2) ORDER BY h.version`,
		store, id, customer, app.RealmTenant, app.RealmAPIKey).Scan(ctx, &rows)
	if err == nil && len(rows) == 0 { // every order has been placed
		err = app.NotFound()
	}
	changes := make([]app.OrderChange, len(rows))
	for i, r := range rows {
		changes[i] = r.change()
	}
	return changes, pg.Classify(err)
}
