package persistence

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// orderRow is an order as its table holds it.
type orderRow struct {
	bun.BaseModel `bun:"table:orders,alias:o"`

	ID                 app.OrderID `bun:",pk"`
	StoreID            app.StoreID
	Number             int64
	StoreViewID        app.StoreViewID
	Status             app.OrderStatus
	PreviousStatus     *app.OrderStatus
	FulfillmentType    app.FulfillmentType
	Source             app.OrderSource
	CustomerID         app.CustomerID
	CustomerName       string
	CustomerEmail      string
	CustomerPhone      string
	SubtotalMinor      int64
	DiscountMinor      int64
	DeliveryFeeMinor   int64
	TaxMinor           int64
	TaxIncluded        bool
	TotalMinor         int64
	Currency           app.Currency
	PaidMinor          int64
	RefundedMinor      int64
	Note               string
	DeliveryAddress    *app.DeliveryAddress `bun:"type:jsonb"`
	CancellationReason string
	BusinessDate       string `bun:"type:date"`
	ItemCount          int64  // of all lines, for analytics
	Version            int64
	CreatedAt          time.Time
	UpdatedAt          time.Time
}

// itemRow is a line of an order as its table holds it.
type itemRow struct {
	bun.BaseModel `bun:"table:order_items,alias:i"`

	OrderID        app.OrderID `bun:",pk"`
	StoreID        app.StoreID
	Position       int `bun:",pk"`
	ProductID      app.ProductID
	ProductName    string
	Quantity       int64
	UnitPriceMinor int64
	TotalMinor     int64
	DiscountMinor  int64
	TaxRatePPM     int64  `bun:"tax_rate_ppm"`
	BusinessDate   string `bun:"type:date"` // of the order, for analytics
	StockTaken     bool
}

func (r orderRow) order(items []itemRow) app.Order {
	o := app.Order{
		ID: r.ID, Number: strconv.FormatInt(r.Number, 10), StoreID: r.StoreID, StoreViewID: r.StoreViewID,
		Status: r.Status, PreviousStatus: r.PreviousStatus, FulfillmentType: r.FulfillmentType, Source: r.Source,
		Customer:      app.OrderCustomer{ID: r.CustomerID, Name: r.CustomerName, Email: r.CustomerEmail, Phone: r.CustomerPhone},
		SubtotalMinor: r.SubtotalMinor, DeliveryFeeMinor: r.DeliveryFeeMinor, TaxMinor: r.TaxMinor, DiscountMinor: r.DiscountMinor,
		TotalMinor: r.TotalMinor, TaxIncluded: r.TaxIncluded, Currency: r.Currency,
		PaymentStatus: app.PaymentStatusOf(r.TotalMinor, r.PaidMinor, r.RefundedMinor), PaidMinor: r.PaidMinor, RefundedMinor: r.RefundedMinor,
		Note: r.Note, DeliveryAddress: r.DeliveryAddress, CancellationReason: r.CancellationReason, BusinessDate: r.BusinessDate,
		Version: r.Version, CreatedAt: app.At(r.CreatedAt), UpdatedAt: app.At(r.UpdatedAt),
	}
	for _, i := range items {
		o.Items = append(o.Items, app.OrderItem{
			ProductID: i.ProductID, ProductName: i.ProductName, Quantity: i.Quantity, UnitPriceMinor: i.UnitPriceMinor, TotalMinor: i.TotalMinor,
		})
	}
	return o
}

// PlaceOrder places an order at today's prices, takes it out of stock and tells of it:
// order.created, and customer.created for a guest's first. It returns VALIDATION_FAILED,
// PRODUCT_UNAVAILABLE, PRICE_NOT_SET, AMOUNT_TOO_LARGE or TOTAL_MISMATCH, and what
// Idempotency-Keys can lead to; render makes the answer that is stored for once.
func (db *DB) PlaceOrder(ctx context.Context, now time.Time, store app.StoreID, in app.NewOrder, once *Once, render func(app.Order) any) (app.Order, error) {
	now = app.At(now).Time
	return pg.CreateOnce(ctx, db.pg, store, once, now, func(ctx context.Context, tx bun.Tx) (app.Order, error) {
		rules, err := rules(ctx, tx, store, in.StoreViewID)
		if err != nil {
			return app.Order{}, err
		}
		items, counted, err := orderedItems(ctx, tx, store, rules, in.Items)
		if err != nil {
			return app.Order{}, err
		}
		if err := takeStock(ctx, tx, store, counted, items); err != nil {
			return app.Order{}, err
		}
		row, err := priceOrder(now, store, in, rules, items)
		if err != nil {
			return app.Order{}, err
		}
		customer, err := orderingCustomer(ctx, tx, now, row.BusinessDate, store, in)
		if err != nil {
			return app.Order{}, err
		}
		row.CustomerID, row.CustomerName, row.CustomerEmail, row.CustomerPhone = customer.ID, customer.Name, customer.Email, customer.Phone
		// The number last: until the commit, every other order of the store waits for it.
		err = tx.Tx.QueryRowContext(ctx, `INSERT INTO order_numbers AS n (store_id, last) VALUES ($1, 1)
			ON CONFLICT (store_id) DO UPDATE SET last = n.last + 1 RETURNING last`, store).Scan(&row.Number)
		if err != nil {
			return app.Order{}, err
		}
		for i := range items {
			items[i].OrderID, items[i].BusinessDate = row.ID, row.BusinessDate
			row.ItemCount += items[i].Quantity
		}
		if err := pg.InsertPrepared(ctx, tx, row); err != nil {
			return app.Order{}, err
		}
		if err := pg.InsertPrepared(ctx, tx, items...); err != nil {
			return app.Order{}, err
		}
		order := row.order(items)
		event, err := delivery.Emitted(ctx, tx, now, store, app.EventOrderCreated, order)
		if err != nil {
			return app.Order{}, err
		}
		return order, remember(ctx, tx, order, in.By, event)
	}, render)
}

// QuoteOrder computes what an order would cost now, and writes nothing. It refuses what
// [DB.PlaceOrder] would refuse.
func (db *DB) QuoteOrder(ctx context.Context, now time.Time, store app.StoreID, in app.NewOrder) (app.OrderQuote, error) {
	var quote app.OrderQuote
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		rules, err := rules(ctx, tx, store, in.StoreViewID)
		if err != nil {
			return err
		}
		items, counted, err := orderedItems(ctx, tx, store, rules, in.Items)
		if err != nil {
			return err
		}
		for _, c := range counted {
			if c.stock < c.quantity {
				return c.outOfStock()
			}
		}
		row, err := priceOrder(app.At(now).Time, store, in, rules, items)
		if err != nil {
			return err
		}
		if in.CustomerID != "" {
			if err := customerExists(ctx, tx, store, in.CustomerID); err != nil {
				return err
			}
		}
		order := row.order(items)
		quote = app.OrderQuote{
			StoreID: store, StoreViewID: order.StoreViewID, FulfillmentType: order.FulfillmentType, Items: order.Items,
			SubtotalMinor: order.SubtotalMinor, DeliveryFeeMinor: order.DeliveryFeeMinor, TaxMinor: order.TaxMinor, DiscountMinor: order.DiscountMinor,
			TotalMinor: order.TotalMinor, TaxIncluded: order.TaxIncluded, Currency: order.Currency, BusinessDate: order.BusinessDate,
		}
		return nil
	})
	return quote, err
}

// counted is how many of a product an order wants that is counted.
type counted struct {
	product  app.ProductID
	quantity int64
	stock    int64 // as it was read
	first    int   // of the order's lines with it
}

func (c counted) outOfStock() error {
	return unavailable(fmt.Sprintf("items[%d].quantity", c.first), "is more than is in stock")
}

// orderedItems returns the order's lines at the prices and under the names of the view, and
// what of them is counted, in the order of the products' ids.
func orderedItems(ctx context.Context, tx bun.Tx, store app.StoreID, rules storeRules, wanted []app.NewOrderItem) ([]itemRow, []counted, error) {
	var rows []productRow
	ids := make([]app.ProductID, len(wanted))
	for i, item := range wanted {
		ids[i] = item.ProductID
	}
	err := pg.SelectPrepared(ctx, tx, &rows, `SELECT id, name, price_minor, currency, prices, translations, tax_rate_ppm, is_available, stock_quantity
		FROM products WHERE store_id = $1 AND deleted_at IS NULL AND id = ANY ($2) ORDER BY id`, store, ids)
	if err != nil {
		return nil, nil, err
	}
	products := map[app.ProductID]app.Product{}
	for _, row := range rows {
		products[row.ID] = row.product()
	}
	items := make([]itemRow, len(wanted))
	quantities := map[app.ProductID]int64{}
	for i, item := range wanted {
		path := fmt.Sprintf("items[%d].productId", i)
		product, ok := products[item.ProductID]
		if !ok || !product.IsAvailable {
			return nil, nil, unavailable(path, "is not available")
		}
		price, ok := product.Price(rules.View.Currency)
		if !ok {
			return nil, nil, refuse(app.CodePriceNotSet, path, "has no price in "+string(rules.View.Currency))
		}
		rate := rules.TaxRatePPM
		if product.TaxRatePPM != nil {
			rate = *product.TaxRatePPM
		}
		items[i] = itemRow{
			StoreID: store, Position: i, ProductID: product.ID, ProductName: product.Text(rules.View.Locale).Name,
			Quantity: item.Quantity, UnitPriceMinor: price, TotalMinor: price * item.Quantity, TaxRatePPM: rate,
		}
		quantities[product.ID] += item.Quantity
	}
	var need []counted
	for _, row := range rows {
		if row.StockQuantity != nil {
			first := slices.IndexFunc(wanted, func(item app.NewOrderItem) bool { return item.ProductID == row.ID })
			need = append(need, counted{row.ID, quantities[row.ID], *row.StockQuantity, first})
		}
	}
	return items, need, nil
}

// takeStock takes out of stock what an order wants, in the order of the products' ids, so
// that no two orders wait for each other, and notes in the lines what has been taken: nothing
// of what is no longer counted.
func takeStock(ctx context.Context, tx bun.Tx, store app.StoreID, need []counted, items []itemRow) error {
	for _, c := range need {
		var left *int64
		err := tx.NewRaw(`UPDATE products SET stock_quantity = stock_quantity - ?0
			WHERE store_id = ?1 AND id = ?2 AND (stock_quantity >= ?0 OR stock_quantity IS NULL) RETURNING stock_quantity`,
			c.quantity, store, c.product).Scan(ctx, &left)
		if app.CodeOf(pg.Classify(err)) == app.CodeNotFound {
			return c.outOfStock()
		}
		if err != nil {
			return err
		}
		for i := range items {
			items[i].StockTaken = items[i].StockTaken || items[i].ProductID == c.product && left != nil
		}
	}
	return nil
}

func unavailable(path, message string) error {
	return refuse(app.CodeProductUnavailable, path, message)
}

// priceOrder computes the order's amounts into a new row and its lines.
func priceOrder(now time.Time, store app.StoreID, in app.NewOrder, rules storeRules, items []itemRow) (orderRow, error) {
	lines := make([]app.PricedLine, len(items))
	for i, item := range items {
		lines[i] = app.PricedLine{UnitPriceMinor: item.UnitPriceMinor, Quantity: item.Quantity, TaxRatePPM: item.TaxRatePPM}
	}
	pricing := app.PriceRules{
		DiscountMinor: in.DiscountMinor, TaxDeliveryFee: rules.TaxFee, TaxRatePPM: rules.TaxRatePPM, TaxIncluded: rules.TaxIncluded,
	}
	if in.FulfillmentType == app.FulfillmentDelivery {
		pricing.DeliveryFeeMinor = rules.DeliveryFees[rules.View.Currency]
	}
	totals, err := app.Price(lines, pricing)
	if err != nil {
		return orderRow{}, err
	}
	if in.ExpectedTotalMinor != nil && *in.ExpectedTotalMinor != totals.TotalMinor {
		return orderRow{}, app.Errorf(app.CodeTotalMismatch, "the order now costs %d, not %d", totals.TotalMinor, *in.ExpectedTotalMinor)
	}
	for i, line := range totals.Lines {
		items[i].DiscountMinor = line.DiscountMinor
	}
	day, err := rules.businessDate(now)
	return orderRow{
		ID: app.NewID[app.OrderID](now), StoreID: store, StoreViewID: rules.View.ID, Status: app.OrderReceived,
		FulfillmentType: in.FulfillmentType, Source: in.Source,
		SubtotalMinor: totals.SubtotalMinor, DiscountMinor: totals.DiscountMinor, DeliveryFeeMinor: totals.DeliveryFeeMinor,
		TaxMinor: totals.TaxMinor, TaxIncluded: rules.TaxIncluded, TotalMinor: totals.TotalMinor, Currency: rules.View.Currency,
		Note: in.Note, DeliveryAddress: in.DeliveryAddress, BusinessDate: day, Version: 1, CreatedAt: now, UpdatedAt: now,
	}, err
}

// Order returns an order of a store, NOT_FOUND if it has none of that id. A customer, if
// not "", sees own orders only.
func (db *DB) Order(ctx context.Context, store app.StoreID, id app.OrderID, customer app.CustomerID) (app.Order, error) {
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

// Orders lists a store's orders, the newest first, at most limit of them, from after the one
// named (its zero value = from the start). A customer, if not "", sees own orders only.
func (db *DB) Orders(ctx context.Context, store app.StoreID, customer app.CustomerID, filter app.OrderFilter, after Cursor, limit int) ([]app.Order, error) {
	var orders []app.Order
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) (err error) {
		var rows []orderRow
		orders, _, err = scanOrders(ctx, tx, store, listOrders(tx, &rows, store, customer, filter, after, limit), &rows)
		return err
	})
	return orders, err
}

// selectOrders begins a query for orders.
func selectOrders(tx bun.Tx, rows *[]orderRow) *bun.SelectQuery {
	return tx.NewSelect().Model(rows).ExcludeColumn("business_date").ColumnExpr("o.business_date::text AS business_date")
}

// scanOrders runs a query for orders and adds their lines.
func scanOrders(ctx context.Context, tx bun.Tx, store app.StoreID, q *bun.SelectQuery, rows *[]orderRow) ([]app.Order, []itemRow, error) {
	if err := q.Scan(ctx); err != nil || len(*rows) == 0 {
		return []app.Order{}, nil, err
	}
	ids := make([]app.OrderID, len(*rows))
	for i, row := range *rows {
		ids[i] = row.ID
	}
	var items []itemRow
	err := tx.NewSelect().Model(&items).Where("i.store_id = ? AND i.order_id IN (?)", store, bun.List(ids)).OrderExpr("i.order_id, i.position").Scan(ctx)
	lines := map[app.OrderID][]itemRow{}
	for _, item := range items {
		lines[item.OrderID] = append(lines[item.OrderID], item)
	}
	orders := make([]app.Order, len(*rows))
	for i, row := range *rows {
		orders[i] = row.order(lines[row.ID])
	}
	return orders, items, err
}

// listOrders is the query of a list. Each filter has an index in the list's order; a search
// that finds many is a walk through the newest, one that finds few is read by its indexes.
func listOrders(tx bun.Tx, rows *[]orderRow, store app.StoreID, customer app.CustomerID, filter app.OrderFilter, after Cursor, limit int) *bun.SelectQuery {
	q := selectOrders(tx, rows).Where("o.store_id = ?", store).OrderExpr("o.created_at DESC, o.id DESC").Limit(int64(limit))
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
	if filter.NeedsRefund != nil && *filter.NeedsRefund {
		q.Where("o.status = 'CANCELLED' AND o.paid_minor > o.refunded_minor")
	}
	if filter.NeedsRefund != nil && !*filter.NeedsRefund {
		q.Where("NOT (o.status = 'CANCELLED' AND o.paid_minor > o.refunded_minor)")
	}
	if filter.Query != "" {
		q.WhereGroup(" AND ", func(q *bun.SelectQuery) *bun.SelectQuery { return searchOrders(q, filter.Query) })
	}
	return q
}

// searchOrders narrows a query to orders with a number, or with a customer whose name, last
// name, e-mail address or phone number begins like that.
func searchOrders(q *bun.SelectQuery, text string) *bun.SelectQuery {
	searchPeople(q, text)
	if number, err := strconv.ParseUint(text, 10, 63); err == nil {
		q.WhereOr("o.search_phone >= ? AND o.search_phone < ?", "+"+text, "+"+text+afterAll)
		q.WhereOr("o.number = ?", number)
	}
	return q
}
