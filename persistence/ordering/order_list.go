package ordering

import (
	"context"
	"strconv"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Order returns an order of a store. It returns NOT_FOUND if there is no such order, or customer is
// not "" and not the order's customer.
func (db *DB) Order(
	ctx context.Context, store app.StoreID, id app.OrderID, customer app.CustomerID,
) (app.Order, error) {
	var order app.Order
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		var rows []orderRow
		q := selectOrders(tx, &rows).Where("o.store_id = ? AND o.id = ?", store, id)
		if customer != "" {
			q.Where("o.customer_id = ?", customer)
		}
		found, _, err := scanOrders(ctx, tx, store, q, &rows)
		if err == nil && len(found) == 0 {
			err = app.NotFound()
		}
		if err == nil {
			order = found[0]
		}
		return err
	})
	return order, err
}

// Orders lists a store's orders, newest first. If customer is not "", it lists only that customer's orders.
func (db *DB) Orders(
	ctx context.Context, store app.StoreID, customer app.CustomerID, filter app.OrderFilter, after pg.Cursor, limit int,
) ([]app.Order, error) {
	var orders []app.Order
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) (err error) {
		var rows []orderRow
		orders, _, err = scanOrders(ctx, tx, store, listOrders(tx, &rows, store, customer, filter, after, limit), &rows)
		return err
	})
	return orders, err
}

// selectOrders starts a query of orders.
func selectOrders(tx bun.Tx, rows *[]orderRow) *bun.SelectQuery {
	return tx.NewSelect().Model(rows).ExcludeColumn("business_date").
		ColumnExpr("o.business_date::text AS business_date")
}

// scanOrders runs a query of orders and adds the orders' items.
func scanOrders(
	ctx context.Context, tx bun.Tx, store app.StoreID, q *bun.SelectQuery, rows *[]orderRow,
) ([]app.Order, []itemRow, error) {
	if err := q.Scan(ctx); err != nil || len(*rows) == 0 {
		return []app.Order{}, nil, err
	}
	return withItems(ctx, tx, store, *rows)
}

// withItems returns orders with their items. There must be at least one order.
func withItems(
	ctx context.Context, tx bun.Tx, store app.StoreID, rows []orderRow,
) ([]app.Order, []itemRow, error) {
	ids := make([]app.OrderID, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	var items []itemRow
	err := tx.NewSelect().Model(&items).Where("i.store_id = ? AND i.order_id IN (?)", store, bun.List(ids)).
		OrderExpr("i.order_id, i.position").Scan(ctx)
	lines := map[app.OrderID][]itemRow{}
	for _, item := range items {
		lines[item.OrderID] = append(lines[item.OrderID], item)
	}
	orders := make([]app.Order, len(rows))
	for i, row := range rows {
		orders[i] = row.order(lines[row.ID])
	}
	return orders, items, err
}

// listOrders builds the query of [DB.Orders]. Each filter has an index in the order of the list. A
// search with many results reads the newest orders until the page is full; a search with few results
// uses the indexes of the searched columns.
func listOrders(
	tx bun.Tx, rows *[]orderRow, store app.StoreID, customer app.CustomerID, filter app.OrderFilter, after pg.Cursor,
	limit int,
) *bun.SelectQuery {
	q := selectOrders(tx, rows).Where("o.store_id = ?", store).OrderExpr("o.created_at DESC, o.id DESC").
		Limit(int64(limit))
	if customer != "" {
		q.Where("o.customer_id = ?", customer)
	}
	if after.ID != "" {
		q.Where("(o.created_at, o.id) < (?, ?)", after.At, after.ID)
	}
	if len(filter.Statuses) > 0 {
		q.Where("o.status IN (?)", bun.List(filter.Statuses))
	}
	if filter.FulfillmentType != "" {
		q.Where("o.fulfillment_type = ?", filter.FulfillmentType)
	}
	if filter.Source != "" {
		q.Where("o.source = ?", filter.Source)
	}
	if filter.CustomerID != "" {
		q.Where("o.customer_id = ?", filter.CustomerID)
	}
	if filter.Number != 0 {
		q.Where("o.number = ?", filter.Number)
	}
	if filter.CreatedFrom != nil {
		q.Where("o.created_at >= ?", filter.CreatedFrom.Time)
	}
	if filter.CreatedTo != nil {
		q.Where("o.created_at < ?", filter.CreatedTo.Time)
	}
	if filter.BusinessDate != "" {
		q.Where("o.business_date = ?", filter.BusinessDate)
	}
	if filter.UpdatedSince != nil {
		q.Where("o.updated_at >= ?", filter.UpdatedSince.Time)
	}
	if filter.DueBy != nil {
		q.Where("(o.due_at IS NULL OR o.due_at <= ?)", filter.DueBy.Time)
	}
	if filter.DueAfter != nil {
		q.Where("o.due_at > ?", filter.DueAfter.Time)
	}
	if filter.ExternalID != "" {
		q.Where("o.external_id = ?", filter.ExternalID)
	}
	if filter.NeedsRefund != nil && *filter.NeedsRefund {
		q.Where(needsRefund)
	}
	if filter.NeedsRefund != nil && !*filter.NeedsRefund {
		q.Where("NOT (" + needsRefund + ")")
	}
	if filter.Query != "" {
		q.WhereGroup(" AND ", func(q *bun.SelectQuery) *bun.SelectQuery { return searchOrders(q, filter.Query) })
	}
	return q
}

// needsRefund is the condition that the refundable amount of order o is above zero, as in [app.Balance.Refundable].
const needsRefund = `o.paid_minor - o.refunded_minor > CASE o.status WHEN 'CANCELLED' THEN 0 ELSE o.total_minor END`

// searchOrders adds conditions with OR: the conditions of pg.SearchPeople or, if text is a number, the
// order number or a phone number with "+" before it.
func searchOrders(q *bun.SelectQuery, text string) *bun.SelectQuery {
	pg.SearchPeople(q, text)
	if number, err := strconv.ParseUint(text, 10, 63); err == nil {
		q.WhereOr("o.search_phone >= ? AND o.search_phone < ?", "+"+text, "+"+text+pg.LastCharacter)
		q.WhereOr("o.number = ?", number)
	}
	return q
}
