package ordering

import (
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// paymentRow is a row of the table payments.
type paymentRow struct {
	bun.BaseModel `bun:"table:payments,alias:p"`

	ID            app.PaymentID
	StoreID       app.StoreID
	OrderID       app.OrderID
	OrderNumber   int64 `bun:",scanonly"`
	Provider      string
	TransactionID string
	Status        app.PaymentResult
	AmountMinor   int64
	TipMinor      int64
	Currency      app.Currency
	PaymentMethod string
	Channel       *string // of the order
	CardLast4     string  `bun:"card_last4"`
	ErrorCode     string
	RefundedMinor int64
	RefundedTip   int64
	OrderVersion  int64  // when it was recorded
	BusinessDate  string `bun:"type:date"`
	CreatedAt     time.Time
}

// refundRow is a row of the table refunds.
type refundRow struct {
	bun.BaseModel `bun:"table:refunds,alias:r"`

	ID               app.RefundID
	StoreID          app.StoreID
	PaymentID        app.PaymentID
	OrderID          app.OrderID
	Provider         string // of the payment
	AmountMinor      int64
	TipMinor         int64
	Currency         app.Currency
	Reason           string
	ProviderRefundID string
	OrderVersion     int64  // when it was recorded
	BusinessDate     string `bun:"type:date"`
	CreatedAt        time.Time
}

func (r paymentRow) payment(refunds []refundRow) app.Payment {
	number := strconv.FormatInt(r.OrderNumber, 10)
	p := app.Payment{
		ID: r.ID, StoreID: r.StoreID, OrderNumber: number, Order: app.PaidOrder{ID: r.OrderID, Number: number},
		Provider:      r.Provider,
		TransactionID: r.TransactionID, Status: r.Status, AmountMinor: r.AmountMinor, TipMinor: r.TipMinor,
		Currency: r.Currency, PaymentMethod: r.PaymentMethod, CardLast4: r.CardLast4, ErrorCode: r.ErrorCode,
		RefundedMinor: r.RefundedMinor, RefundedTip: r.RefundedTip, Refunds: []app.Refund{},
		BusinessDate: r.BusinessDate, CreatedAt: app.At(r.CreatedAt),
	}
	for _, refund := range refunds {
		p.Refunds = append(p.Refunds, refund.refund())
	}
	return p
}

func (r refundRow) refund() app.Refund {
	return app.Refund{
		ID: r.ID, PaymentID: r.PaymentID, AmountMinor: r.AmountMinor, TipMinor: r.TipMinor, Currency: r.Currency,
		Reason: r.Reason, ProviderRefundID: r.ProviderRefundID, BusinessDate: r.BusinessDate,
		CreatedAt: app.At(r.CreatedAt),
	}
}

// RecordPayment records a provider's payment for an order and emits payment.succeeded or payment.failed. A succeeded
// payment counts even if it exceeds the total or the order is cancelled, because the money has moved. It does not store
// the card of an erased customer. If the same transaction is already recorded with the same values, it returns that
// payment and sets once.Existed; with other values it returns CONFLICT. It also returns NOT_FOUND, VALIDATION_FAILED
// for another currency than the order's, AMOUNT_TOO_LARGE, and the errors of [pg.RunOnce].
func (db *DB) RecordPayment(
	ctx context.Context, now time.Time, store app.StoreID, id app.OrderID, in app.NewPayment, once *pg.Once,
) (app.Payment, error) {
	now = app.At(now).Time
	return pg.CreateOnce(ctx, db.pg, store, once, now, func(ctx context.Context, tx bun.Tx) (app.Payment, error) {
		order, _, err := lockOrder(ctx, tx, store, id)
		if err != nil {
			return app.Payment{}, err
		}
		erased, err := isErased(ctx, tx, order, order.Version)
		if err != nil {
			return app.Payment{}, err
		}
		card := in.CardLast4
		if erased {
			card = ""
		}
		if in.Currency != order.Currency {
			return app.Payment{}, app.Invalid("currency", "must be the currency of the order, "+string(order.Currency))
		}
		day, err := identity.BusinessDate(ctx, tx, store, now)
		if err != nil {
			return app.Payment{}, err
		}
		row := paymentRow{
			ID: app.NewID[app.PaymentID](now), StoreID: store, OrderID: id, Provider: in.Provider,
			TransactionID: in.TransactionID, Status: in.Status, AmountMinor: in.AmountMinor, TipMinor: in.TipMinor,
			Currency: in.Currency, PaymentMethod: in.PaymentMethod, CardLast4: card, ErrorCode: in.ErrorCode,
			Channel: order.Channel, OrderVersion: order.Version, BusinessDate: day, CreatedAt: now,
		}
		result, err := tx.NewInsert().Model(&row).On("CONFLICT (store_id, provider, transaction_id) DO NOTHING").
			Exec(ctx)
		if err != nil {
			return app.Payment{}, err
		}
		n, err := result.RowsAffected()
		once.Found(n == 0)
		if err != nil || n == 0 {
			return recordedPayment(ctx, tx, order, in)
		}
		payment := row.payment(nil)
		payment.OrderNumber, payment.Order.Number = order.Number, order.Number
		if payment.Status == app.PaymentSucceeded {
			paid := payment.AmountMinor - payment.TipMinor
			if order.PaidMinor > app.MaxAmountMinor-paid {
				return app.Payment{}, app.Errorf(app.CodeAmountTooLarge, "the sum of the order's payments is too large")
			}
			after := order.Balanced(order.Balance().Paid(paid))
			if err := saveMoney(ctx, tx, now, order, after, app.PointsRestored, ""); err != nil {
				return app.Payment{}, err
			}
		}
		event, data := payment.Event()
		return payment, delivery.EmitPayment(ctx, tx, now, store, event, id, data)
	})
}

// recordedPayment returns the payment that is already recorded for a transaction. It returns CONFLICT
// if that payment belongs to another order or differs from in, except in an erased card.
func recordedPayment(ctx context.Context, tx bun.Tx, order app.Order, in app.NewPayment) (app.Payment, error) {
	var rows []paymentRow
	q := selectPayments(tx, &rows).Where("p.store_id = ? AND p.provider = ? AND p.transaction_id = ?", order.StoreID,
		in.Provider, in.TransactionID)
	found, err := scanPayments(ctx, tx, order.StoreID, "", q, &rows)
	if err != nil {
		return app.Payment{}, err
	}
	erased, err := isErased(ctx, tx, order, rows[0].OrderVersion)
	if err != nil {
		return app.Payment{}, err
	}
	if erased {
		in.CardLast4 = ""
	}
	if rows[0].OrderID != order.ID || found[0].Recorded() != in {
		return app.Payment{}, app.Errorf(app.CodeConflict,
			"this transaction of %s is already recorded with other values", in.Provider)
	}
	return found[0], nil
}

// Payments lists an order's payments with their refunds, newest first; for a customer, those of the customer's time,
// without the reasons of refunds from the time of another customer. more reports whether further ones follow. It
// returns NOT_FOUND if the store has no such order, or customer is not "" and not the order's customer.
func (db *DB) Payments(
	ctx context.Context, store app.StoreID, order app.OrderID, customer app.CustomerID, after pg.Cursor,
	limit app.PageLimit,
) (payments []app.Payment, more bool, err error) {
	err = db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		known, err := tx.NewSelect().TableExpr("orders").
			Where("store_id = ? AND id = ? AND (? = '' OR customer_id = ?)", store, order, customer, customer).
			Exists(ctx)
		if err == nil && !known {
			err = app.NotFound()
		}
		if err != nil {
			return err
		}
		var rows []paymentRow
		q := selectPayments(tx, &rows).Where("p.store_id = ? AND p.order_id = ?", store, order).
			OrderExpr("p.created_at DESC, p.id DESC").Limit(int64(limit.Rows) + 1)
		if customer != "" {
			q.Where(customerAt("p.order_version")+" = ?", customer)
		}
		if after.ID != "" {
			q.Where("(p.created_at, p.id) < (?, ?)", after.At, after.ID)
		}
		payments, more, err = pageOfPayments(ctx, tx, store, customer, q, &rows, limit)
		return err
	})
	return payments, more, err
}

// RefundPayment records a provider's refund of a payment, also in the audit trail, and emits payment.refunded. It does
// not store the reason of a refund of an erased customer. If the same refund is already recorded with the same values,
// it returns that refund and sets once.Existed; with other values, or for another payment of the provider, it returns
// CONFLICT. It also returns NOT_FOUND, REFUND_EXCEEDS_PAYMENT, LIMIT_REACHED if the payment has app.MaxRefunds, and the
// errors of [pg.RunOnce].
func (db *DB) RefundPayment(
	ctx context.Context, now time.Time, store app.StoreID, id app.PaymentID, in app.NewRefund, by app.Actor,
	once *pg.Once,
) (app.Refund, error) {
	now = app.At(now).Time
	return pg.CreateOnce(ctx, db.pg, store, once, now, func(ctx context.Context, tx bun.Tx) (app.Refund, error) {
		order, payment, err := lockPayment(ctx, tx, store, id)
		if err != nil {
			return app.Refund{}, err
		}
		version := order.Version
		repeated := slices.IndexFunc(payment.Refunds, func(r app.Refund) bool {
			return r.ProviderRefundID == in.ProviderRefundID
		})
		if repeated >= 0 {
			err := tx.NewRaw("SELECT order_version FROM refunds WHERE store_id = ? AND id = ?", store,
				payment.Refunds[repeated].ID).Scan(ctx, &version)
			if err != nil {
				return app.Refund{}, err
			}
		}
		erased, err := isErased(ctx, tx, order, version)
		if err != nil {
			return app.Refund{}, err
		}
		if erased {
			in.Reason = ""
		}
		once.Found(repeated >= 0)
		if repeated >= 0 {
			if payment.Refunds[repeated].Recorded() != in {
				return app.Refund{}, app.Errorf(app.CodeConflict,
					"this refund of %s is already recorded with other values", payment.Provider)
			}
			return payment.Refunds[repeated], nil
		}
		if len(payment.Refunds) >= app.MaxRefunds {
			return app.Refund{}, app.Errorf(app.CodeLimitReached, "a payment can have at most %d refunds", app.MaxRefunds)
		}
		day, err := identity.BusinessDate(ctx, tx, store, now)
		if err != nil {
			return app.Refund{}, err
		}
		row := refundRow{
			ID: app.NewID[app.RefundID](now), StoreID: store, PaymentID: id, OrderID: order.ID,
			Provider: payment.Provider, AmountMinor: in.AmountMinor, TipMinor: in.TipMinor, Currency: payment.Currency,
			Reason: in.Reason, ProviderRefundID: in.ProviderRefundID, OrderVersion: order.Version, BusinessDate: day,
			CreatedAt: now,
		}
		if err := insertRefund(ctx, tx, row); err != nil {
			return app.Refund{}, err
		}
		refund := row.refund()
		payment, data, err := payment.Refunded(refund)
		if err != nil {
			return app.Refund{}, err
		}
		_, err = tx.NewRaw("UPDATE payments SET refunded_minor = ?, refunded_tip = ? WHERE store_id = ? AND id = ?",
			payment.RefundedMinor, payment.RefundedTip, store, id).Exec(ctx)
		if err != nil {
			return app.Refund{}, err
		}
		after := order.Balanced(order.Balance().Refunded(refund.AmountMinor - refund.TipMinor))
		if err := saveMoney(ctx, tx, now, order, after, app.PointsReversed, refund.ID); err != nil {
			return app.Refund{}, err
		}
		if err := pg.Audit(ctx, tx, now, store, by, app.AuditRefundIssued, string(id), map[string]any{
			"refundId": refund.ID, "orderId": data.OrderNumber, "amountMinor": refund.AmountMinor,
			"currency": refund.Currency,
		}); err != nil {
			return app.Refund{}, err
		}
		return refund, delivery.EmitPayment(ctx, tx, now, store, app.EventPaymentRefunded, order.ID, data)
	})
}

// insertRefund writes a refund. It returns CONFLICT if the provider's id is that of a refund of another payment.
func insertRefund(ctx context.Context, tx bun.Tx, row refundRow) error {
	result, err := tx.NewInsert().Model(&row).On("CONFLICT (store_id, provider, provider_refund_id) DO NOTHING").
		Exec(ctx)
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		err = app.Errorf(app.CodeConflict, "this refund of %s is already recorded for another payment", row.Provider)
	}
	return err
}

// lockPayment locks the order of a payment and returns both. The lock of the order protects its
// payments and refunds, too.
func lockPayment(ctx context.Context, tx bun.Tx, store app.StoreID, id app.PaymentID) (app.Order, app.Payment, error) {
	var orderID app.OrderID
	if err := tx.NewRaw("SELECT order_id FROM payments WHERE store_id = ? AND id = ?", store, id).
		Scan(ctx, &orderID); err != nil {
		return app.Order{}, app.Payment{}, err
	}
	order, _, err := lockOrder(ctx, tx, store, orderID)
	if err != nil {
		return app.Order{}, app.Payment{}, err
	}
	var rows []paymentRow
	payments, err := scanPayments(ctx, tx, store, "", selectPayments(tx, &rows).
		Where("p.store_id = ? AND p.id = ?", store, id), &rows)
	if err != nil {
		return app.Order{}, app.Payment{}, err
	}
	return order, payments[0], nil
}

// saveMoney saves the paid, refunded and compensated amounts of a locked order and adjusts its customer's loyalty
// points.
func saveMoney(
	ctx context.Context, tx bun.Tx, now time.Time, before, order app.Order, kind app.LoyaltyKind, refund app.RefundID,
) error {
	_, err := tx.NewRaw(`UPDATE orders SET paid_minor = ?, refunded_minor = ?, compensated_minor = ?,
			version = version + 1, updated_at = greatest(updated_at, ?)
		WHERE store_id = ? AND id = ?`,
		order.PaidMinor, order.RefundedMinor, order.CompensatedMinor, now, order.StoreID, order.ID).Exec(ctx)
	if err != nil {
		return err
	}
	order.Version, order.UpdatedAt = order.Version+1, order.UpdatedAt.OrLater(app.At(now))
	if err := notifyOrder(ctx, order); err != nil {
		return err
	}
	return settlePoints(ctx, tx, now, before, order, kind, refund)
}

// selectPayments starts a query of payments.
func selectPayments(tx bun.Tx, rows *[]paymentRow) *bun.SelectQuery {
	return tx.NewSelect().Model(rows).ExcludeColumn("business_date").
		ColumnExpr("p.business_date::text AS business_date, o.number AS order_number").
		Join("JOIN orders o ON o.store_id = p.store_id AND o.id = p.order_id")
}

// scanPayments runs a query of payments and adds the payments' refunds as [withRefunds] does.
func scanPayments(
	ctx context.Context, tx bun.Tx, store app.StoreID, reader app.CustomerID, q *bun.SelectQuery, rows *[]paymentRow,
) ([]app.Payment, error) {
	if err := q.Scan(ctx); err != nil || len(*rows) == 0 {
		return []app.Payment{}, err
	}
	return withRefunds(ctx, tx, store, reader, *rows)
}

// pageOfPayments is scanPayments for a page of a list. The query has one row more than the page. more reports whether
// further payments follow.
func pageOfPayments(
	ctx context.Context, tx bun.Tx, store app.StoreID, reader app.CustomerID, q *bun.SelectQuery, rows *[]paymentRow,
	limit app.PageLimit,
) (payments []app.Payment, more bool, err error) {
	if err := q.Scan(ctx); err != nil || len(*rows) == 0 {
		return []app.Payment{}, false, err
	}
	page := (*rows)[:min(len(*rows), limit.Rows)]
	payments, err = withRefundsWithin(ctx, tx, store, reader, page, limit)
	return payments, len(payments) < len(*rows), err
}

// withRefunds returns payments with their refunds. If reader is not "", it omits the reasons of refunds from the time
// of another customer. There must be at least one payment.
func withRefunds(
	ctx context.Context, tx bun.Tx, store app.StoreID, reader app.CustomerID, rows []paymentRow,
) ([]app.Payment, error) {
	return withRefundsWithin(ctx, tx, store, reader, rows, app.PageLimit{Rows: len(rows), Bytes: math.MaxInt})
}

// withRefundsWithin is withRefunds for the first payments whose refunds fill a page.
func withRefundsWithin(
	ctx context.Context, tx bun.Tx, store app.StoreID, reader app.CustomerID, rows []paymentRow, limit app.PageLimit,
) ([]app.Payment, error) {
	ids := make([]app.PaymentID, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	q := tx.NewSelect().Model((*refundRow)(nil)).ExcludeColumn("business_date", "reason").
		ColumnExpr("r.business_date::text AS business_date").
		ColumnExpr("CASE WHEN ? IN ('', "+customerAt("r.order_version")+") THEN r.reason ELSE '' END AS reason", reader).
		Join("JOIN orders o ON o.store_id = r.store_id AND o.id = r.order_id").
		Where("r.store_id = ? AND r.payment_id IN (?)", store, bun.List(ids)).
		OrderExpr("array_position(?, r.payment_id), r.created_at, r.id", pgdialect.Array(ids))
	refunds, more, err := pg.Page(ctx, q, limit, func(r refundRow) app.PaymentID { return r.PaymentID })
	if more {
		rows = rows[:1+slices.Index(ids, refunds[len(refunds)-1].PaymentID)]
	}
	refundsOf := map[app.PaymentID][]refundRow{}
	for _, refund := range refunds {
		refundsOf[refund.PaymentID] = append(refundsOf[refund.PaymentID], refund)
	}
	payments := make([]app.Payment, len(rows))
	for i, row := range rows {
		payments[i] = row.payment(refundsOf[row.ID])
	}
	return payments, err
}
