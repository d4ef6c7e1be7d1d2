package ordering

import (
	"context"
	"slices"
	"strconv"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

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
		q := selectOrders(tx).Where("o.store_id = ? AND o.id = ?", store, id)
		if customer != "" {
			q.Where("o.customer_id = ?", customer)
		}
		found, _, err := scanOrders(ctx, tx, store, q, oneOrder)
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

// Orders lists a store's orders, newest first. If customer is not "", it lists only that customer's orders. more
// reports whether further ones follow.
func (db *DB) Orders(
	ctx context.Context, store app.StoreID, customer app.CustomerID, filter app.OrderFilter, after pg.Cursor,
	limit app.PageLimit,
) (orders []app.Order, more bool, err error) {
	err = db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) (err error) {
		orders, more, err = scanOrders(ctx, tx, store, listOrders(tx, store, customer, filter, after, limit.Rows+1), limit)
		return err
	})
	return orders, more, err
}

// selectOrders starts a query of orders.
func selectOrders(tx bun.Tx) *bun.SelectQuery {
	return tx.NewSelect().Model((*orderRow)(nil)).ExcludeColumn("business_date").
		ColumnExpr("o.business_date::text AS business_date")
}

// oneOrder is the limit of a query of one order.
var oneOrder = app.PageLimit{Rows: 1}

// scanOrders returns a page of a query of orders, with their items. more reports whether further orders follow.
func scanOrders(
	ctx context.Context, tx bun.Tx, store app.StoreID, q *bun.SelectQuery, limit app.PageLimit,
) (orders []app.Order, more bool, err error) {
	rows, more, err := pg.Page(ctx, q, limit, func(o orderRow) app.OrderID { return o.ID })
	if err != nil || len(rows) == 0 {
		return []app.Order{}, false, err
	}
	items, further, err := itemsOf(ctx, tx, store, rows, limit)
	if further {
		last := items[len(items)-1].OrderID
		rows = rows[:1+slices.IndexFunc(rows, func(o orderRow) bool { return o.ID == last })]
	}
	return withItems(rows, items), more || further, err
}

func withItems(rows []orderRow, items []itemRow) []app.Order {
	lines := map[app.OrderID][]itemRow{}
	for _, item := range items {
		lines[item.OrderID] = append(lines[item.OrderID], item)
	}
	orders := make([]app.Order, len(rows))
	for i, row := range rows {
		orders[i] = row.order(lines[row.ID])
	}
	return orders
}

// itemsOf returns the items of the first orders up to a limit. more reports whether further orders have items.
func itemsOf(
	ctx context.Context, tx bun.Tx, store app.StoreID, rows []orderRow, limit app.PageLimit,
) (items []itemRow, more bool, err error) {
	ids := make([]app.OrderID, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	q := tx.NewSelect().Model((*itemRow)(nil)).Where("i.store_id = ? AND i.order_id IN (?)", store, bun.List(ids)).
		OrderExpr("array_position(?, i.order_id), i.position", pgdialect.Array(ids))
	return pg.Page(ctx, q, limit, func(i itemRow) app.OrderID { return i.OrderID })
}

// listOrders builds the query of [DB.Orders]. Each filter has an index in the order of the list. A
// search with many results reads the newest orders until the page is full; a search with few results
// uses the indexes of the searched columns.
func listOrders(
	tx bun.Tx, store app.StoreID, customer app.CustomerID, filter app.OrderFilter, after pg.Cursor, limit int,
) *bun.SelectQuery {
	q := selectOrders(tx).Where("o.store_id = ?", store).OrderExpr("o.created_at DESC, o.id DESC").
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
