package ordering

import (
	"context"
	"strconv"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// orderRow is a row of the table orders.
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
	Channel            *string // nil = the store's own
	CustomerID         *app.CustomerID
	CustomerName       string
	CustomerEmail      string
	CustomerPhone      string
	SubtotalMinor      int64
	DiscountMinor      int64
	LoyaltyPoints      int64
	LoyaltyMinor       int64
	DeliveryFeeMinor   int64
	DeliveryFeeTaxPPM  *int64 `bun:"delivery_fee_tax_ppm"` // nil = not taxed
	TaxMinor           int64
	Taxes              pg.JSONList[app.Tax] `bun:"type:jsonb"`
	TaxIncluded        bool
	TotalMinor         int64
	Currency           app.Currency
	PaidMinor          int64
	RefundedMinor      int64
	CompensatedMinor   int64
	Note               string
	TableLabel         string
	DeliveryAddress    *app.DeliveryAddress `bun:"type:jsonb"`
	CancellationReason string
	BusinessDate       string `bun:"type:date"`
	RequestedFor       *time.Time
	PromisedAt         time.Time
	DueAt              *time.Time
	ItemCount          int64             // sum of the items' quantities, for analytics
	ExternalID         string            `bun:"external_id"`
	Metadata           map[string]string `bun:"type:jsonb"`
	Version            int64
	PrintedVersion     *int64
	CreatedAt          time.Time
	UpdatedAt          time.Time
}

func (r orderRow) order(items []itemRow) app.Order {
	o := app.Order{
		ID: r.ID, Number: strconv.FormatInt(r.Number, 10), StoreID: r.StoreID, StoreViewID: r.StoreViewID,
		Status: r.Status, PreviousStatus: r.PreviousStatus, FulfillmentType: r.FulfillmentType, Source: r.Source,
		Channel: r.Channel,
		Customer: app.OrderCustomer{
			ID: r.CustomerID, Name: r.CustomerName, Email: r.CustomerEmail, Phone: r.CustomerPhone,
		},
		SubtotalMinor: r.SubtotalMinor, DeliveryFeeMinor: r.DeliveryFeeMinor, TaxMinor: r.TaxMinor,
		Taxes:         r.Taxes,
		DiscountMinor: r.DiscountMinor, LoyaltyPoints: r.LoyaltyPoints, LoyaltyMinor: r.LoyaltyMinor,
		TotalMinor: r.TotalMinor, TaxIncluded: r.TaxIncluded, Currency: r.Currency,
		PaidMinor: r.PaidMinor, RefundedMinor: r.RefundedMinor, CompensatedMinor: r.CompensatedMinor,
		Note: r.Note, TableLabel: r.TableLabel, DeliveryAddress: r.DeliveryAddress,
		CancellationReason: r.CancellationReason, BusinessDate: r.BusinessDate,
		RequestedFor: pg.TimeOrNil(r.RequestedFor), PromisedAt: app.At(r.PromisedAt),
		DueAt: pg.TimeOrNil(r.DueAt), ExternalID: r.ExternalID, Metadata: r.Metadata,
		Version: r.Version, PrintedVersion: r.PrintedVersion,
		CreatedAt: app.At(r.CreatedAt), UpdatedAt: app.At(r.UpdatedAt),
	}
	for _, i := range items {
		o.Items = append(o.Items, i.item())
	}
	return o.Balanced(o.Balance())
}

// PlaceOrder places an order, at the current prices unless it has its own, and takes its items from stock. It emits
// order.created and, for a new guest, customer.created. It returns VALIDATION_FAILED,
// OUTSIDE_BOOKING_WINDOW, STORE_CLOSED, PRODUCT_UNAVAILABLE, OPTION_INVALID, PRICE_NOT_SET, AMOUNT_TOO_LARGE,
// TOTAL_MISMATCH, LIMIT_REACHED if the order is too large, CONFLICT if another order has the externalId, and the errors
// of [pg.RunOnce].
func (db *DB) PlaceOrder(
	ctx context.Context, now time.Time, store app.StoreID, in app.NewOrder, once *pg.Once,
) (app.Order, error) {
	now = app.At(now).Time
	placed, err := pg.CreateOnce(ctx, db.pg, store, once, now, func(ctx context.Context, tx bun.Tx) (app.Order, error) {
		rules, times, err := beginOrder(ctx, tx, now, store, in)
		if err != nil {
			return app.Order{}, err
		}
		items, counted, err := orderedItems(ctx, tx, now, store, rules, in.Items)
		if err != nil {
			return app.Order{}, err
		}
		if err := takeStock(ctx, tx, now, store, counted, items); err != nil {
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
		if err := takePoints(ctx, tx, store, in); err != nil {
			return app.Order{}, err
		}
		row.RequestedFor, row.PromisedAt = pg.UTCOrNil(times.RequestedFor), times.PromisedAt.UTC()
		row.DueAt = pg.UTCOrNil(times.DueAt)
		row.CustomerID, row.CustomerName, row.CustomerEmail, row.CustomerPhone = customer.ID, customer.Name,
			customer.Email, customer.Phone
		// This statement blocks all other new orders of the store until the commit. Therefore it is late.
		err = tx.Tx.QueryRowContext(ctx, `INSERT INTO order_numbers AS n (store_id, last) VALUES ($1, 1)
			ON CONFLICT (store_id) DO UPDATE SET last = n.last + 1 RETURNING last`, store).Scan(&row.Number)
		if err != nil {
			return app.Order{}, err
		}
		for i := range items {
			items[i].OrderID, items[i].BusinessDate = row.ID, row.BusinessDate
		}
		if err := pg.InsertPrepared(ctx, tx, row); err != nil {
			return app.Order{}, err
		}
		if err := pg.InsertPrepared(ctx, tx, items...); err != nil {
			return app.Order{}, err
		}
		order := row.order(items)
		if err := recordRedemption(ctx, tx, now, order, in.CustomerID); err != nil {
			return app.Order{}, err
		}
		if err := awaitAcceptance(ctx, tx, now, order, in.By, rules.acceptance()); err != nil {
			return app.Order{}, err
		}
		event, err := delivery.Emitted(ctx, tx, now, store, app.EventOrderCreated, order)
		if err != nil {
			return app.Order{}, err
		}
		return order, recordStatus(ctx, tx, order, in.By, event)
	})
	return placed, db.pg.ExternalIDTaken(ctx, store, "orders", in.ExternalID, err)
}

// QuoteOrder computes the amounts of an order without placing it. It returns the errors of
// [DB.PlaceOrder].
func (db *DB) QuoteOrder(
	ctx context.Context, now time.Time, store app.StoreID, in app.NewOrder,
) (app.OrderQuote, error) {
	var quote app.OrderQuote
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		rules, _, err := beginOrder(ctx, tx, app.At(now).Time, store, in)
		if err != nil {
			return err
		}
		items, counted, err := orderedItems(ctx, tx, now, store, rules, in.Items)
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
		if err := hasPoints(ctx, tx, store, in); err != nil {
			return err
		}
		order := row.order(items)
		quote = app.OrderQuote{
			StoreID: store, StoreViewID: order.StoreViewID, FulfillmentType: order.FulfillmentType,
			Items:         make([]app.QuotedItem, len(items)),
			SubtotalMinor: order.SubtotalMinor, DeliveryFeeMinor: order.DeliveryFeeMinor, TaxMinor: order.TaxMinor,
			Taxes:         order.Taxes,
			DiscountMinor: order.DiscountMinor, LoyaltyPoints: order.LoyaltyPoints, LoyaltyMinor: order.LoyaltyMinor,
			TotalMinor: order.TotalMinor, TaxIncluded: order.TaxIncluded,
			Currency: order.Currency, BusinessDate: order.BusinessDate,
		}
		for i, item := range items {
			quote.Items[i] = item.quoted()
		}
		return nil
	})
	return quote, err
}

// beginOrder returns the rules and the times of a new order. It checks the view and the customer, VALIDATION_FAILED,
// before the business rules, OUTSIDE_BOOKING_WINDOW and STORE_CLOSED (docs/behaviour.md#order-of-refusal).
func beginOrder(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, in app.NewOrder,
) (storeRules, app.OrderTimes, error) {
	rules, err := rules(ctx, tx, store, in.StoreViewID)
	if err != nil {
		return rules, app.OrderTimes{}, err
	}
	if in.CustomerID != "" {
		if err := canOrder(ctx, tx, store, in.CustomerID); err != nil {
			return rules, app.OrderTimes{}, err
		}
	}
	if in.LoyaltyPoints > 0 {
		if err := canRedeem(ctx, tx, store, in, rules); err != nil {
			return rules, app.OrderTimes{}, err
		}
	}
	times, err := rules.times(now, in)
	return rules, times, err
}

// priceOrder computes the order's amounts, sets the items' discounts and returns the new row.
func priceOrder(
	now time.Time, store app.StoreID, in app.NewOrder, rules storeRules, items []itemRow,
) (orderRow, error) {
	row := orderRow{
		ID: app.NewID[app.OrderID](now), StoreID: store, StoreViewID: rules.View.ID, Status: app.OrderReceived,
		FulfillmentType: in.FulfillmentType, Source: in.Source, Channel: in.Channel, DiscountMinor: in.DiscountMinor,
		DeliveryFeeMinor: deliveryFee(in, rules), TaxIncluded: rules.TaxIncluded, Currency: rules.View.Currency,
		Note: in.Note, TableLabel: in.TableLabel, DeliveryAddress: in.DeliveryAddress, ExternalID: in.ExternalID,
		Metadata: pg.Metadata(in.Metadata), Version: 1, CreatedAt: now, UpdatedAt: now,
	}
	if rules.TaxFee {
		row.DeliveryFeeTaxPPM = &rules.TaxRatePPM
	}
	err := row.price(items)
	if err == nil && in.LoyaltyPoints > 0 {
		err = row.redeem(in.LoyaltyPoints, rules.loyalty(), items)
	}
	if err == nil {
		err = checkTotal(in.ExpectedTotalMinor, row.TotalMinor)
	}
	if err == nil {
		err = row.order(items).CheckSize()
	}
	if err != nil {
		return orderRow{}, err
	}
	row.BusinessDate, err = identity.BusinessDateAt(now, rules.Timezone, rules.CutoffHour)
	return row, err
}

// deliveryFee returns the delivery fee of a new order: its own, or that of the settings.
func deliveryFee(in app.NewOrder, rules storeRules) int64 {
	switch {
	case in.DeliveryFeeMinor != nil:
		return *in.DeliveryFeeMinor
	case in.FulfillmentType == app.FulfillmentDelivery:
		return rules.DeliveryFees[rules.View.Currency]
	}
	return 0
}

// price computes the order's amounts from its items, its discount with the worth of its points, and its delivery fee,
// and the items' shares. It returns the errors of [app.Price].
func (r *orderRow) price(items []itemRow) error {
	lines := make([]app.PricedLine, len(items))
	for i, item := range items {
		lines[i] = app.PricedLine{
			UnitPriceMinor: item.UnitPriceMinor, Quantity: item.Quantity, TaxRatePPM: item.TaxRatePPM,
		}
	}
	rules := app.PriceRules{
		DiscountMinor:    r.DiscountMinor + r.LoyaltyMinor,
		DeliveryFeeMinor: r.DeliveryFeeMinor, TaxIncluded: r.TaxIncluded,
		TaxDeliveryFee: r.DeliveryFeeTaxPPM != nil,
	}
	if rules.TaxDeliveryFee {
		rules.TaxRatePPM = *r.DeliveryFeeTaxPPM
	}
	totals, err := app.Price(lines, rules)
	if r.LoyaltyMinor > 0 && app.CodeOf(err) == app.CodeValidationFailed {
		return app.Invalid("discountMinor", "must not exceed the subtotal less the worth of the redeemed points")
	}
	if err != nil {
		return err
	}
	r.SubtotalMinor, r.TaxMinor, r.Taxes, r.TotalMinor = totals.SubtotalMinor, totals.TaxMinor, totals.Taxes,
		totals.TotalMinor
	r.ItemCount = 0
	for i, line := range totals.Lines {
		items[i].setTotals(line)
		r.ItemCount += items[i].Quantity
	}
	return nil
}

// checkTotal returns TOTAL_MISMATCH if a request expects another total.
func checkTotal(expected *int64, total int64) error {
	if expected == nil || *expected == total {
		return nil
	}
	return app.TotalMismatch(total, *expected)
}
