package persistence

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
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
	TaxRatePPM     int64 `bun:"tax_rate_ppm"`
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
	return createOnce(ctx, db, store, once, now, func(ctx context.Context, tx bun.Tx) (app.Order, error) {
		rules, err := rules(ctx, tx, store, in.StoreViewID)
		if err != nil {
			return app.Order{}, err
		}
		items, err := takeProducts(ctx, tx, store, rules, in.Items)
		if err != nil {
			return app.Order{}, err
		}
		row, err := priceOrder(now, store, in, rules, items)
		if err != nil {
			return app.Order{}, err
		}
		customer, err := orderingCustomer(ctx, tx, now, store, in)
		if err != nil {
			return app.Order{}, err
		}
		row.CustomerID, row.CustomerName, row.CustomerEmail, row.CustomerPhone = customer.ID, customer.Name, customer.Email, customer.Phone
		// The number last: until the commit, every other order of the store waits for it.
		err = tx.NewRaw(`INSERT INTO order_numbers AS n (store_id, last) VALUES (?, 1)
			ON CONFLICT (store_id) DO UPDATE SET last = n.last + 1 RETURNING last`, store).Scan(ctx, &row.Number)
		if err != nil {
			return app.Order{}, err
		}
		if _, err := tx.NewInsert().Model(&row).Exec(ctx); err != nil {
			return app.Order{}, err
		}
		for i := range items {
			items[i].OrderID = row.ID
		}
		if _, err := tx.NewInsert().Model(&items).Exec(ctx); err != nil {
			return app.Order{}, err
		}
		order := row.order(items)
		return order, emit(ctx, tx, now, store, app.EventOrderCreated, order)
	}, render)
}

// takeProducts returns the order's lines at the prices and under the names of the view,
// and takes what is counted out of stock.
func takeProducts(ctx context.Context, tx bun.Tx, store app.StoreID, rules storeRules, wanted []app.NewOrderItem) ([]itemRow, error) {
	var rows []productRow
	ids := make([]app.ProductID, len(wanted))
	for i, item := range wanted {
		ids[i] = item.ProductID
	}
	err := tx.NewSelect().Model(&rows).Where("p.store_id = ? AND p.deleted_at IS NULL AND p.id IN (?)", store, bun.List(ids)).
		OrderExpr("p.id").Scan(ctx)
	if err != nil {
		return nil, err
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
			return nil, unavailable(path, "is not available")
		}
		price, ok := product.Price(rules.View.Currency)
		if !ok {
			return nil, refuse(app.CodePriceNotSet, path, "has no price in "+string(rules.View.Currency))
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
	for _, row := range rows { // in the order of their ids, so that no two orders wait for each other
		if row.StockQuantity == nil {
			continue
		}
		result, err := tx.NewRaw(`UPDATE products SET stock_quantity = stock_quantity - ?0
			WHERE store_id = ?1 AND id = ?2 AND stock_quantity >= ?0`, quantities[row.ID], store, row.ID).Exec(ctx)
		if err != nil {
			return nil, err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			first := slices.IndexFunc(wanted, func(item app.NewOrderItem) bool { return item.ProductID == row.ID })
			return nil, errorOr(err, unavailable(fmt.Sprintf("items[%d].quantity", first), "is more than is in stock"))
		}
	}
	return items, nil
}

func unavailable(path, message string) error {
	return refuse(app.CodeProductUnavailable, path, message)
}

func refuse(code app.Code, path, message string) error {
	return &app.Error{Code: code, Message: path + " " + message, Details: []app.Detail{{Path: path, Message: message}}}
}

func errorOr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
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
	var row orderRow
	var items []itemRow
	err := db.inStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		err := tx.NewSelect().Model(&row).ColumnExpr("o.*, o.business_date::text AS business_date").
			Where("o.store_id = ? AND o.id = ? AND (? = '' OR o.customer_id = ?)", store, id, customer, customer).Scan(ctx)
		if err != nil {
			return err
		}
		items = nil
		return tx.NewSelect().Model(&items).Where("i.store_id = ? AND i.order_id = ?", store, id).OrderExpr("i.position").Scan(ctx)
	})
	return row.order(items), err
}
