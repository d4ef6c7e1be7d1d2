package ordering

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// historyRow is a row of the table order_history.
type historyRow struct {
	bun.BaseModel `bun:"table:order_history,alias:h"`

	OrderID    app.OrderID
	StoreID    app.StoreID
	Version    int64
	FromStatus *app.OrderStatus
	ToStatus   *app.OrderStatus
	Reason     string

	// Both are of a change of other members than the status.
	ChangedFields pg.JSONList[string]         `bun:"type:jsonb,scanonly"`
	ItemChanges   pg.JSONList[app.ItemChange] `bun:"type:jsonb,scanonly"`

	ActorRealm app.Realm
	ActorID    string
	ActorName  string `bun:",scanonly"`
	EventID    app.EventID
	At         time.Time
}

func (r historyRow) change() app.OrderChange {
	c := app.OrderChange{
		Type: r.kind(), Version: r.Version, From: r.FromStatus, Reason: r.Reason, ChangedFields: r.ChangedFields,
		Actor: app.OrderActor{Realm: r.ActorRealm, ID: r.ActorID, Name: r.ActorName}, ItemChanges: r.ItemChanges,
		EventID: r.EventID, At: app.At(r.At),
	}
	if r.ToStatus != nil {
		c.To = *r.ToStatus
	}
	return c
}

func (r historyRow) kind() app.OrderChangeType {
	if r.ToStatus == nil {
		return app.Amendment
	}
	return app.ChangeOfStatus
}

// ChangeOrderStatus changes the status of an order and emits order.status_updated, and also
// order.completed or order.cancelled. It records a user's cancellation. If the order already has the status, it emits
// nothing, and writes only another promised time. A cancelled order returns its items to stock and no longer counts for
// its customer. It returns NOT_FOUND, VERSION_MISMATCH (version 0 matches every version) or INVALID_TRANSITION.
func (db *DB) ChangeOrderStatus(
	ctx context.Context, now time.Time, store app.StoreID, id app.OrderID, version int64, change app.OrderStatusChange,
) (app.Order, error) {
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
		if change.Promised != nil {
			if change.Prep, err = prepTime(ctx, tx, store, order.FulfillmentType); err != nil {
				return err
			}
		}
		if moved, err = order.Moved(change, app.At(now)); err != nil || moved.Version == order.Version {
			return err
		}
		if moved.Status == order.Status {
			return postpone(ctx, tx, now, order, moved)
		}
		if order.Status == app.OrderReceived {
			if err := endAcceptance(ctx, tx, now, moved); err != nil {
				return err
			}
		}
		return saveMoved(ctx, tx, now, order, moved, items, change.By)
	})
	return moved, err
}

// prepTime returns the preparation time of a fulfillment type in the store's settings.
func prepTime(ctx context.Context, tx bun.Tx, store app.StoreID, t app.FulfillmentType) (time.Duration, error) {
	var minutes int
	err := tx.Tx.QueryRowContext(ctx, "SELECT (prep_minutes ->> $2)::int FROM stores WHERE id = $1", store, t).
		Scan(&minutes)
	return time.Duration(minutes) * time.Minute, err
}

// postpone writes a locked order with another promised time. The acceptance of an order for later moves with its due
// time.
func postpone(ctx context.Context, tx bun.Tx, now time.Time, before, moved app.Order) error {
	if err := saveStatus(ctx, tx, moved); err != nil {
		return err
	}
	if moved.Status == app.OrderReceived && moved.DueAt != nil && !moved.DueAt.Equal(before.DueAt.Time) {
		if err := moveAcceptance(ctx, tx, now, moved); err != nil {
			return err
		}
	}
	return notifyOrder(ctx, moved)
}

// saveMoved writes a locked order with a new status, its consequences and its events.
func saveMoved(
	ctx context.Context, tx bun.Tx, now time.Time, before, moved app.Order, items []itemRow, by app.Actor,
) error {
	if moved.Status == app.OrderCancelled {
		if err := returnItems(ctx, tx, moved, items); err != nil {
			return err
		}
		if err := auditCancellation(ctx, tx, now, moved, by); err != nil {
			return err
		}
	}
	if err := saveStatus(ctx, tx, moved); err != nil {
		return err
	}
	if err := settlePoints(ctx, tx, now, before, moved, app.PointsEarned, ""); err != nil {
		return err
	}
	return emitOrderStatus(ctx, tx, now, moved, by)
}

// auditCancellation records the cancellation of an order by a user. It omits the reason, which may contain personal
// data.
func auditCancellation(ctx context.Context, tx bun.Tx, now time.Time, order app.Order, by app.Actor) error {
	if by.Realm != app.RealmTenant {
		return nil
	}
	return pg.Audit(ctx, tx, now, order.StoreID, by, app.AuditOrderCancelled, string(order.ID), map[string]any{
		"orderId": order.Number, "previousStatus": order.PreviousStatus, "totalMinor": order.TotalMinor,
		"currency": order.Currency,
	})
}

// saveStatus writes the columns of an order that a change of its status can change.
func saveStatus(ctx context.Context, tx bun.Tx, o app.Order) error {
	_, err := tx.NewRaw(`UPDATE orders SET status = ?, previous_status = ?, cancellation_reason = ?,
			promised_at = ?, due_at = ?, version = ?, updated_at = ?
		WHERE store_id = ? AND id = ?`, o.Status, o.PreviousStatus, o.CancellationReason, o.PromisedAt.UTC(),
		pg.UTCOrNil(o.DueAt), o.Version, o.UpdatedAt.Time, o.StoreID, o.ID).Exec(ctx)
	return err
}

// lockOrder locks an order until the end of the transaction, NOT_FOUND if the store has no such order.
// To avoid deadlocks, a transaction locks in this order: the order, its products by id, the customer,
// the rows of analytics.
func lockOrder(ctx context.Context, tx bun.Tx, store app.StoreID, id app.OrderID) (app.Order, []itemRow, error) {
	row, items, err := lockOrderRow(ctx, tx, store, id)
	return row.order(items), items, err
}

// lockOrderRow is [lockOrder] that returns the row.
func lockOrderRow(ctx context.Context, tx bun.Tx, store app.StoreID, id app.OrderID) (orderRow, []itemRow, error) {
	var rows []orderRow
	err := selectOrders(tx).Where("o.store_id = ? AND o.id = ?", store, id).For("NO KEY UPDATE").Scan(ctx, &rows)
	if err == nil && len(rows) == 0 {
		err = app.NotFound()
	}
	if err != nil {
		return orderRow{}, nil, err
	}
	items, _, err := itemsOf(ctx, tx, store, rows, oneOrder)
	return rows[0], items, err
}

// returnItems returns the items of a cancelled order to stock and decrements its customer's number of
// orders.
func returnItems(ctx context.Context, tx bun.Tx, order app.Order, items []itemRow) error {
	if err := returnStock(ctx, tx, order.UpdatedAt.Time, order.StoreID, items); err != nil {
		return err
	}
	_, err := tx.NewRaw("UPDATE customers SET total_orders = total_orders - 1 WHERE store_id = ? AND id = ?",
		order.StoreID, order.Customer.ID).Exec(ctx)
	return err
}

// emitOrderStatus emits the events of an order's new status and adds the status to the order's
// history. The ids of the events sort in the order of [app.EventTypes].
func emitOrderStatus(ctx context.Context, tx bun.Tx, now time.Time, order app.Order, by app.Actor) error {
	event, err := delivery.Emitted(ctx, tx, now, order.StoreID, app.EventOrderStatusUpdated,
		app.OrderStatusUpdated{Order: order, NewStatus: order.Status})
	if err != nil {
		return err
	}
	if further, ok := map[app.OrderStatus]app.EventType{app.OrderCompleted: app.EventOrderCompleted,
		app.OrderCancelled: app.EventOrderCancelled}[order.Status]; ok {
		if err := delivery.Emit(ctx, tx, now.Add(time.Microsecond), order.StoreID, further, order); err != nil {
			return err
		}
	}
	return recordStatus(ctx, tx, order, by, event)
}

// recordStatus adds the order's current status to its history.
func recordStatus(ctx context.Context, tx bun.Tx, order app.Order, by app.Actor, event app.EventID) error {
	err := pg.InsertPrepared(ctx, tx, historyRow{
		OrderID: order.ID, StoreID: order.StoreID, Version: order.Version, FromStatus: order.PreviousStatus,
		ToStatus: &order.Status, Reason: order.CancellationReason, ActorRealm: by.Realm, ActorID: by.ID, EventID: event,
		At: order.UpdatedAt.Time,
	})
	if err != nil {
		return err
	}
	return notifyOrder(ctx, order)
}

// OrderHistory returns the changes of an order after a version, oldest first, with the actors' current names. A
// customer does not see the items from the time of another customer. Names of platform administrators are omitted,
// because tenants must not see them. It returns NOT_FOUND if the store has no such order, if customer is not "" and not
// the order's customer, or if there are no such changes. more reports whether further changes follow.
func (db *DB) OrderHistory(
	ctx context.Context, store app.StoreID, id app.OrderID, customer app.CustomerID, after int64, limit app.PageLimit,
) (changes []app.OrderChange, more bool, err error) {
	q := db.pg.System().NewSelect().TableExpr("orders AS o").
		ColumnExpr("h.version, h.from_status, h.to_status, h.reason, h.changed_fields").
		ColumnExpr(`CASE WHEN ?2 = '' THEN h.item_changes ELSE `+ownItemChanges("o.customer_id")+` END AS item_changes`,
			store, id, customer).
		ColumnExpr("h.actor_realm, h.actor_id, coalesce(u.name, k.name, '') AS actor_name, h.event_id, h.at").
		Join("JOIN order_history AS h ON h.store_id = o.store_id AND h.order_id = o.id").
		Join("LEFT JOIN users AS u ON h.actor_realm = ? AND u.id = h.actor_id", app.RealmTenant).
		Join("LEFT JOIN api_keys AS k ON h.actor_realm = ? AND k.id = h.actor_id AND k.store_id = h.store_id",
			app.RealmAPIKey).
		Where("o.store_id = ?0 AND o.id = ?1 AND (?2 = '' OR o.customer_id = ?2) AND h.version > ?3",
			store, id, customer, after).
		OrderExpr("h.version").Limit(int64(limit.Rows) + 1)
	rows, more, err := pg.Page(ctx, q, limit, func(r historyRow) int64 { return r.Version })
	if err == nil && len(rows) == 0 { // placing an order adds the first change
		err = app.NotFound()
	}
	changes = make([]app.OrderChange, len(rows))
	for i, r := range rows {
		changes[i] = r.change()
	}
	return changes, more, pg.Classify(err)
}
