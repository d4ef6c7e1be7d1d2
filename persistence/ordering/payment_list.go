package ordering

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// StorePayments lists a store's payments with their refunds, newest first. more reports whether further ones follow.
func (db *DB) StorePayments(
	ctx context.Context, store app.StoreID, filter app.PaymentFilter, after pg.Cursor, limit app.PageLimit,
) (payments []app.Payment, more bool, err error) {
	err = db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) (err error) {
		var rows []paymentRow
		q := listPayments(tx, &rows, store, filter, after, limit.Rows+1)
		payments, more, err = pageOfPayments(ctx, tx, store, "", q, &rows, limit)
		return err
	})
	return payments, more, err
}

func listPayments(
	tx bun.Tx, rows *[]paymentRow, store app.StoreID, filter app.PaymentFilter, after pg.Cursor, limit int,
) *bun.SelectQuery {
	q := selectPayments(tx, rows).Where("p.store_id = ? AND o.store_id = ?", store, store).
		OrderExpr("p.created_at DESC, p.id DESC").Limit(int64(limit))
	if after.ID != "" {
		q.Where("(p.created_at, p.id) < (?, ?)", after.At, after.ID)
	}
	if filter.OrderID != "" {
		q.Where("p.order_id = ?", filter.OrderID)
	}
	if filter.OrderNumber != 0 {
		q.Where("o.number = ?", filter.OrderNumber)
	}
	if filter.Status != "" {
		q.Where("p.status = ?", filter.Status)
	}
	if filter.Provider != "" {
		q.Where("p.provider = ?", filter.Provider)
	}
	if filter.From != nil {
		q.Where("p.created_at >= ?", filter.From.Time)
	}
	if filter.To != nil {
		q.Where("p.created_at < ?", filter.To.Time)
	}
	return q
}
