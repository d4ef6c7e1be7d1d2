package ordering

import (
	"context"
	"strconv"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// loyaltyRow is a row of the table loyalty_entries, the ledger of loyalty points.
type loyaltyRow struct {
	bun.BaseModel `bun:"table:loyalty_entries,alias:l"`

	ID          app.LoyaltyEntryID
	StoreID     app.StoreID
	CustomerID  app.CustomerID
	OrderID     app.OrderID
	OrderNumber int64        `bun:",scanonly"`
	RefundID    app.RefundID `bun:",nullzero"`
	Kind        app.LoyaltyKind
	Points      int64
	CreatedAt   time.Time
}

// settlePoints adds entries to the ledger of loyalty points, so that the redeemed and the earned points of a locked
// order match its status and amounts. kind is that of the earned points. Call it after each change of status, payments
// or refunds; refund is set for PointsReversed only.
func settlePoints(
	ctx context.Context, tx bun.Tx, now time.Time, before, order app.Order, kind app.LoyaltyKind, refund app.RefundID,
) error {
	if err := settleRedemption(ctx, tx, now, before, order, kind); err != nil {
		return err
	}
	if order.Status != app.OrderCompleted || order.Customer.ID == nil {
		return nil
	}
	var points int64
	err := tx.NewRaw(`SELECT coalesce(sum(points), 0)::bigint FROM loyalty_entries
		WHERE store_id = ? AND order_id = ? AND kind NOT IN (?, ?)`, order.StoreID, order.ID, app.PointsRedeemed,
		app.PointsReturned).Scan(ctx, &points)
	change := order.EarnedPoints() - points
	if err == nil && change < 0 {
		change, err = reversible(ctx, tx, before, order, change)
	}
	if err != nil {
		return err
	}
	return addEntry(ctx, tx, now, order, loyaltyRow{RefundID: refund, Kind: kind, Points: change})
}

// addEntry adds an entry of an order to the ledger and its points to the balance of the customer, unless the points are
// 0.
func addEntry(ctx context.Context, tx bun.Tx, now time.Time, order app.Order, row loyaltyRow) error {
	if row.Points == 0 {
		return nil
	}
	row.ID, row.StoreID, row.OrderID, row.CreatedAt = app.NewID[app.LoyaltyEntryID](now), order.StoreID, order.ID, now
	row.CustomerID = *order.Customer.ID
	if _, err := tx.NewInsert().Model(&row).Exec(ctx); err != nil {
		return err
	}
	_, err := tx.NewRaw("UPDATE customers SET loyalty_points = loyalty_points + ? WHERE store_id = ? AND id = ?",
		row.Points, row.StoreID, row.CustomerID).Exec(ctx)
	return err
}

// reversible returns the part of a negative change of points that the change of the order has caused, and that the
// balance of the customer allows: points that were redeemed meanwhile stay. It locks the customer.
func reversible(ctx context.Context, tx bun.Tx, before, order app.Order, change int64) (int64, error) {
	caused := order.EarnedPoints() - before.EarnedPoints()
	if caused >= 0 {
		return 0, nil
	}
	balance, err := lockBalance(ctx, tx, order)
	return max(change, caused, -balance), err
}

// lockBalance locks the customer of an order and returns the balance of points.
func lockBalance(ctx context.Context, tx bun.Tx, order app.Order) (balance int64, err error) {
	err = tx.NewRaw("SELECT loyalty_points FROM customers WHERE store_id = ? AND id = ? FOR NO KEY UPDATE",
		order.StoreID, order.Customer.ID).Scan(ctx, &balance)
	return balance, err
}

// LoyaltyEntries lists a customer's ledger of loyalty points, newest first. It returns NOT_FOUND if
// the store has no such customer.
func (db *DB) LoyaltyEntries(
	ctx context.Context, store app.StoreID, customer app.CustomerID, after pg.Cursor, limit int,
) ([]app.LoyaltyEntry, error) {
	entries := []app.LoyaltyEntry{}
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		if err := identity.HasCustomer(ctx, tx, store, customer); err != nil {
			return err
		}
		var rows []loyaltyRow
		q := tx.NewSelect().Model(&rows).ColumnExpr("l.*, o.number AS order_number").
			Join("JOIN orders o ON o.store_id = l.store_id AND o.id = l.order_id").
			Where("l.store_id = ? AND l.customer_id = ?", store, customer).
			OrderExpr("l.created_at DESC, l.id DESC").Limit(int64(limit))
		if after.ID != "" {
			q.Where("(l.created_at, l.id) < (?, ?)", after.At, after.ID)
		}
		if err := q.Scan(ctx); err != nil {
			return err
		}
		entries = make([]app.LoyaltyEntry, len(rows))
		for i, r := range rows {
			entries[i] = app.LoyaltyEntry{
				ID: r.ID, Kind: r.Kind, Points: r.Points, OrderNumber: strconv.FormatInt(r.OrderNumber, 10),
				RefundID: r.RefundID, CreatedAt: app.At(r.CreatedAt),
			}
		}
		return nil
	})
	return entries, err
}
