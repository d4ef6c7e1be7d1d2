package persistence

import (
	"context"
	"strconv"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// paymentRow is a payment as its table holds it.
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
	Currency      app.Currency
	PaymentMethod string
	CardLast4     string `bun:"card_last4"`
	ErrorCode     string
	RefundedMinor int64
	CreatedAt     time.Time
}

// refundRow is a refund as its table holds it.
type refundRow struct {
	bun.BaseModel `bun:"table:refunds,alias:r"`

	ID               app.RefundID
	StoreID          app.StoreID
	PaymentID        app.PaymentID
	OrderID          app.OrderID
	AmountMinor      int64
	Currency         app.Currency
	Reason           string
	ProviderRefundID string
	BusinessDate     string `bun:"type:date"`
	CreatedAt        time.Time
}

func (r paymentRow) payment(refunds []refundRow) app.Payment {
	p := app.Payment{
		ID: r.ID, StoreID: r.StoreID, OrderNumber: strconv.FormatInt(r.OrderNumber, 10), Provider: r.Provider, TransactionID: r.TransactionID,
		Status: r.Status, AmountMinor: r.AmountMinor, Currency: r.Currency, PaymentMethod: r.PaymentMethod, CardLast4: r.CardLast4,
		ErrorCode: r.ErrorCode, RefundedMinor: r.RefundedMinor, Refunds: []app.Refund{}, CreatedAt: app.At(r.CreatedAt),
	}
	for _, refund := range refunds {
		p.Refunds = append(p.Refunds, refund.refund())
	}
	return p
}

func (r refundRow) refund() app.Refund {
	return app.Refund{
		ID: r.ID, PaymentID: r.PaymentID, AmountMinor: r.AmountMinor, Currency: r.Currency, Reason: r.Reason,
		ProviderRefundID: r.ProviderRefundID, BusinessDate: r.BusinessDate, CreatedAt: app.At(r.CreatedAt),
	}
}

// RecordPayment records what a provider did about an order and tells of it: payment.succeeded
// or payment.failed. What succeeded counts for the order, even beyond its total and if it is
// cancelled: the money has moved. A transaction that is recorded already, exactly so, is
// returned as it is now, with once.Existed; otherwise it is CONFLICT. It further returns
// NOT_FOUND, VALIDATION_FAILED for another currency than the order's, AMOUNT_TOO_LARGE, and
// what Idempotency-Keys can lead to; render makes the answer that is stored for once.
func (db *DB) RecordPayment(ctx context.Context, now time.Time, store app.StoreID, id app.OrderID, in app.NewPayment, once *Once, render func(app.Payment) any) (app.Payment, error) {
	now = app.At(now).Time
	return pg.CreateOnce(ctx, db.pg, store, once, now, func(ctx context.Context, tx bun.Tx) (app.Payment, error) {
		order, _, err := lockOrder(ctx, tx, store, id)
		if err != nil {
			return app.Payment{}, err
		}
		if in.Currency != order.Currency {
			return app.Payment{}, app.Invalid("currency", "must be the order's, "+string(order.Currency))
		}
		row := paymentRow{
			ID: app.NewID[app.PaymentID](now), StoreID: store, OrderID: id, Provider: in.Provider, TransactionID: in.TransactionID,
			Status: in.Status, AmountMinor: in.AmountMinor, Currency: in.Currency, PaymentMethod: in.PaymentMethod, CardLast4: in.CardLast4,
			ErrorCode: in.ErrorCode, CreatedAt: now,
		}
		result, err := tx.NewInsert().Model(&row).On("CONFLICT (store_id, provider, transaction_id) DO NOTHING").Exec(ctx)
		if err != nil {
			return app.Payment{}, err
		}
		n, err := result.RowsAffected()
		once.Found(n == 0)
		if err != nil || n == 0 {
			return recordedPayment(ctx, tx, store, id, in)
		}
		payment := row.payment(nil)
		payment.OrderNumber = order.Number
		if payment.Status == app.PaymentSucceeded {
			if order.PaidMinor > app.MaxAmountMinor-payment.AmountMinor {
				return app.Payment{}, app.Errorf(app.CodeAmountTooLarge, "the payments of this order are too large")
			}
			order.PaidMinor += payment.AmountMinor
			if err := saveMoney(ctx, tx, now, order, app.PointsRestored, ""); err != nil {
				return app.Payment{}, err
			}
		}
		event, data := payment.Event()
		return payment, delivery.Emit(ctx, tx, now, store, event, data)
	}, render)
}

// recordedPayment returns the payment of a transaction that is recorded already; CONFLICT
// unless it is of that order and the same.
func recordedPayment(ctx context.Context, tx bun.Tx, store app.StoreID, order app.OrderID, in app.NewPayment) (app.Payment, error) {
	var rows []paymentRow
	q := selectPayments(tx, &rows).Where("p.store_id = ? AND p.provider = ? AND p.transaction_id = ?", store, in.Provider, in.TransactionID)
	found, err := scanPayments(ctx, tx, store, q, &rows)
	if err != nil {
		return app.Payment{}, err
	}
	if rows[0].OrderID != order || found[0].Recorded() != in {
		return app.Payment{}, app.Errorf(app.CodeConflict, "this transaction of %s has been recorded otherwise", in.Provider)
	}
	return found[0], nil
}

// Payments lists an order's payments with their refunds, the newest first, at most limit of
// them, from after the one named (its zero value = from the start). It returns NOT_FOUND if
// the store has no such order. A customer, if not "", sees those of own orders only.
func (db *DB) Payments(ctx context.Context, store app.StoreID, order app.OrderID, customer app.CustomerID, after Cursor, limit int) ([]app.Payment, error) {
	var payments []app.Payment
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		known, err := tx.NewSelect().TableExpr("orders").
			Where("store_id = ? AND id = ? AND (? = '' OR customer_id = ?)", store, order, customer, customer).Exists(ctx)
		if err == nil && !known {
			err = app.NotFound()
		}
		if err != nil {
			return err
		}
		var rows []paymentRow
		q := selectPayments(tx, &rows).Where("p.store_id = ? AND p.order_id = ?", store, order).
			OrderExpr("p.created_at DESC, p.id DESC").Limit(int64(limit))
		if after.ID != "" {
			q.Where("(p.created_at, p.id) < (?, ?)", after.At, after.ID)
		}
		payments, err = scanPayments(ctx, tx, store, q, &rows)
		return err
	})
	return payments, err
}

// RefundPayment records that a provider gave back some of a payment, and tells of it:
// payment.refunded, and a line in the audit trail. A refund that is recorded already, exactly
// so, is returned with once.Existed; otherwise it is CONFLICT. It further returns NOT_FOUND,
// REFUND_EXCEEDS_PAYMENT, and what Idempotency-Keys can lead to; render makes the answer that
// is stored for once.
func (db *DB) RefundPayment(ctx context.Context, now time.Time, store app.StoreID, id app.PaymentID, in app.NewRefund, by app.Actor, once *Once, render func(app.Refund) any) (app.Refund, error) {
	now = app.At(now).Time
	return pg.CreateOnce(ctx, db.pg, store, once, now, func(ctx context.Context, tx bun.Tx) (app.Refund, error) {
		order, payment, err := lockPayment(ctx, tx, store, id)
		if err != nil {
			return app.Refund{}, err
		}
		for _, refund := range payment.Refunds {
			if refund.ProviderRefundID != in.ProviderRefundID {
				continue
			}
			once.Found(true)
			if refund.Recorded() != in {
				return app.Refund{}, app.Errorf(app.CodeConflict, "this refund of %s has been recorded otherwise", payment.Provider)
			}
			return refund, nil
		}
		once.Found(false)
		day, err := businessDate(ctx, tx, store, now)
		if err != nil {
			return app.Refund{}, err
		}
		row := refundRow{
			ID: app.NewID[app.RefundID](now), StoreID: store, PaymentID: id, OrderID: order.ID, AmountMinor: in.AmountMinor, Currency: payment.Currency,
			Reason: in.Reason, ProviderRefundID: in.ProviderRefundID, BusinessDate: day, CreatedAt: now,
		}
		refund := row.refund()
		payment, data, err := payment.Refunded(refund)
		if err != nil {
			return app.Refund{}, err
		}
		if _, err := tx.NewInsert().Model(&row).Exec(ctx); err != nil {
			return app.Refund{}, err
		}
		if _, err := tx.NewRaw("UPDATE payments SET refunded_minor = ? WHERE store_id = ? AND id = ?", payment.RefundedMinor, store, id).Exec(ctx); err != nil {
			return app.Refund{}, err
		}
		order.RefundedMinor += refund.AmountMinor
		if err := saveMoney(ctx, tx, now, order, app.PointsReversed, refund.ID); err != nil {
			return app.Refund{}, err
		}
		if err := pg.Audit(ctx, tx, now, store, by, app.AuditRefundIssued, string(id), map[string]any{
			"refundId": refund.ID, "orderId": data.OrderNumber, "amountMinor": refund.AmountMinor, "currency": refund.Currency,
		}); err != nil {
			return app.Refund{}, err
		}
		return refund, delivery.Emit(ctx, tx, now, store, app.EventPaymentRefunded, data)
	}, render)
}

// lockPayment locks the order of a payment, under whose lock payments and refunds are too, and
// returns both.
func lockPayment(ctx context.Context, tx bun.Tx, store app.StoreID, id app.PaymentID) (app.Order, app.Payment, error) {
	var of app.OrderID
	if err := tx.NewRaw("SELECT order_id FROM payments WHERE store_id = ? AND id = ?", store, id).Scan(ctx, &of); err != nil {
		return app.Order{}, app.Payment{}, err
	}
	order, _, err := lockOrder(ctx, tx, store, of)
	if err != nil {
		return app.Order{}, app.Payment{}, err
	}
	var rows []paymentRow
	payments, err := scanPayments(ctx, tx, store, selectPayments(tx, &rows).Where("p.store_id = ? AND p.id = ?", store, id), &rows)
	if err != nil {
		return app.Order{}, app.Payment{}, err
	}
	return order, payments[0], nil
}

// saveMoney keeps what was paid and given back of a locked order, and what that makes of its
// customer's points.
func saveMoney(ctx context.Context, tx bun.Tx, now time.Time, order app.Order, kind app.LoyaltyKind, refund app.RefundID) error {
	_, err := tx.NewRaw("UPDATE orders SET paid_minor = ?, refunded_minor = ?, version = version + 1, updated_at = ? WHERE store_id = ? AND id = ?",
		order.PaidMinor, order.RefundedMinor, now, order.StoreID, order.ID).Exec(ctx)
	if err != nil {
		return err
	}
	order.Version++
	if err := announce(ctx, tx, order); err != nil {
		return err
	}
	return settlePoints(ctx, tx, now, order, kind, refund)
}

// selectPayments begins a query for payments.
func selectPayments(tx bun.Tx, rows *[]paymentRow) *bun.SelectQuery {
	return tx.NewSelect().Model(rows).ColumnExpr("p.*, o.number AS order_number").Join("JOIN orders o ON o.store_id = p.store_id AND o.id = p.order_id")
}

// scanPayments runs a query for payments and adds their refunds.
func scanPayments(ctx context.Context, tx bun.Tx, store app.StoreID, q *bun.SelectQuery, rows *[]paymentRow) ([]app.Payment, error) {
	payments := []app.Payment{}
	if err := q.Scan(ctx); err != nil || len(*rows) == 0 {
		return payments, err
	}
	ids := make([]app.PaymentID, len(*rows))
	for i, row := range *rows {
		ids[i] = row.ID
	}
	var refunds []refundRow
	err := tx.NewSelect().Model(&refunds).ExcludeColumn("business_date").ColumnExpr("r.business_date::text AS business_date").
		Where("r.store_id = ? AND r.payment_id IN (?)", store, bun.List(ids)).OrderExpr("r.created_at, r.id").Scan(ctx)
	of := map[app.PaymentID][]refundRow{}
	for _, refund := range refunds {
		of[refund.PaymentID] = append(of[refund.PaymentID], refund)
	}
	for _, row := range *rows {
		payments = append(payments, row.payment(of[row.ID]))
	}
	return payments, err
}
