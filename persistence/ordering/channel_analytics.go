package ordering

import (
	"context"
	"strings"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// channelSalesQuery sums sales by the order's business date and refunds by the refund's business date, by channel,
// fulfillment type and currency.
var channelSalesQuery = strings.NewReplacer(
	"{gross}", capped("gross_minor"), "{discount}", capped("discount_minor"), "{tax}", capped("tax_minor"),
	"{fee}", capped("delivery_fee_minor"), "{refunded}", capped("refunded_minor"), "{items}", capped("items_sold"),
).Replace(`
	SELECT nullif(s.channel, '') AS channel, fulfillment_type, currency,
		sum(orders)::bigint AS orders, sum(cancelled_orders)::bigint AS cancelled_orders,
		{gross} AS gross_minor, {discount} AS discount_minor, {tax} AS tax_minor, {fee} AS delivery_fee_minor,
		{refunded} AS refunded_minor, {items} AS items_sold
	FROM (
		SELECT channel, fulfillment_type, currency, orders, cancelled_orders, gross_minor, discount_minor, tax_minor,
			delivery_fee_minor, 0 AS refunded_minor, items_sold
		FROM sales WHERE store_id = ?0 AND business_date >= ?1 AND business_date <= ?2
		UNION ALL
		SELECT coalesce(o.channel, ''), o.fulfillment_type, r.currency, 0, 0, 0, 0, 0, 0,
			r.amount_minor - r.tip_minor, 0
		FROM refunds r JOIN orders o ON o.store_id = r.store_id AND o.id = r.order_id
		WHERE r.store_id = ?0 AND r.business_date >= ?1 AND r.business_date <= ?2
	) s
	GROUP BY s.channel, fulfillment_type, currency
	ORDER BY s.channel, fulfillment_type, currency LIMIT ?3`)

// ChannelSales sums a store's sales in a period by channel, fulfillment type and currency, in this order and its own
// channel first, and returns the store's clock. It returns NOT_FOUND if there is no such store, and the errors of
// [app.CompleteChannelSales].
func (db *DB) ChannelSales(
	ctx context.Context, store app.StoreID, period app.Period,
) ([]app.ChannelSales, Clock, error) {
	rows := []app.ChannelSales{}
	var clock Clock
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) (err error) {
		if clock, err = clockOf(ctx, tx, store); err != nil {
			return err
		}
		rows = rows[:0]
		return tx.NewRaw(channelSalesQuery, store, day(period.From), day(period.To), app.MaxChannelSales+1).
			Scan(ctx, &rows)
	})
	if err == nil {
		err = app.CompleteChannelSales(rows)
	}
	return rows, clock, err
}
