package delivery

import (
	"context"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// OrdersChannel is the notification channel for changes of orders. The payload is an [app.OrderNotice].
const OrdersChannel = "comanda_orders"

// OrderDeliveries lists the deliveries of an order's events, oldest first. The zero value of after is the start. It
// returns NOT_FOUND if the store has no such order.
func (q *Queue) OrderDeliveries(ctx context.Context, store app.StoreID, order app.OrderID, after app.DeliveryID,
	limit int,
) ([]app.OrderDelivery, error) {
	found := []app.OrderDelivery{}
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		var exists bool
		err := tx.Tx.QueryRowContext(ctx, "SELECT true FROM orders WHERE store_id = $1 AND id = $2", store, order).
			Scan(&exists)
		if err != nil {
			return err
		}
		rows, err := tx.Tx.QueryContext(ctx, orderDeliveries, store, order, after, limit)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var d app.OrderDelivery
			var ended, next *time.Time
			if err := rows.Scan(&d.ID, &d.EventID, &d.EventType, &d.Webhook.ID, &d.Webhook.Description, &d.Status, &ended,
				&next, &d.Attempts); err != nil {
				return err
			}
			d.NextRetryAt = pg.TimeOrNil(next)
			if d.Status == app.DeliveryDelivered {
				d.DeliveredAt = pg.TimeOrNil(ended)
			}
			found = append(found, d)
		}
		return rows.Err()
	})
	return found, err
}

const orderDeliveries = `
	SELECT d.id, d.event_id, d.event_type, d.subscription_id, s.description, d.status, d.ended_at, d.next_retry_at,
		d.attempts
	FROM outbox e JOIN deliveries d ON d.event_id = e.id AND d.store_id = e.store_id
		JOIN subscriptions s ON s.id = d.subscription_id AND s.store_id = e.store_id
	WHERE e.store_id = $1 AND e.subject = $2 AND d.id > $3 ORDER BY d.id LIMIT $4`

// changedEvent is an event of which a delivery has changed.
type changedEvent struct {
	ID      app.EventID
	StoreID app.StoreID
	Type    app.EventType
}

// newOrderNotifier returns the notifier of the listeners of orders about changed deliveries. One statement serves all
// changes of a pause, and reads nothing if the stores have no open streams. A notification is lost if the process dies
// within the pause.
func newOrderNotifier(db *pg.DB, policy GroupPolicy) *pg.Coalescer[changedEvent] {
	return pg.NewCoalescer(policy.Pause, policy.Timeout, func(ctx context.Context, changed []changedEvent) {
		var events []app.EventID
		var stores []app.StoreID
		for _, e := range changed {
			events, stores = append(events, e.ID), append(stores, e.StoreID)
		}
		// If the database is out of reach, the streams end too, and their clients read the orders again.
		_, _ = db.System().DB.ExecContext(ctx, notifyOrdersStatement, OrdersChannel, events, stores)
	})
}

// notifyOrders enqueues notifications for the events that concern orders. The changes must be committed.
func (q *Queue) notifyOrders(events ...changedEvent) {
	q.orders.Add(slices.DeleteFunc(events, func(e changedEvent) bool { return !e.Type.ConcernsOrder() })...)
}

// notifyOrdersStatement notifies the listeners of the orders of events, if their stores have open streams.
const notifyOrdersStatement = `
	WITH watched AS MATERIALIZED (
		SELECT DISTINCT store_id FROM open_streams WHERE store_id = ANY ($3) AND expires_at > clock_timestamp()
	), changed AS MATERIALIZED (
		SELECT c.id FROM unnest($2::text[], $3::text[]) AS c (id, store_id) JOIN watched USING (store_id)
	), subject AS MATERIALIZED (
		SELECT DISTINCT e.store_id, e.subject FROM changed JOIN outbox e ON e.id = changed.id
	)
	SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, json_build_object('storeId', o.store_id,
		'id', o.id, 'orderId', o.number::text, 'status', o.status, 'version', o.version, 'deliveries', true)::text)
	FROM subject s JOIN orders o ON o.id = s.subject AND o.store_id = s.store_id`
