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

// settlePoints returns redeemed points if it is time, and adds an entry of the given kind to the ledger, so that the
// earned points of a locked order match its status and amounts. It adds nothing if they already match, or the order has
// no customer. Call it after each change of status, payments or refunds; refund is set for PointsReversed only.
func settlePoints(
	ctx context.Context, tx bun.Tx, now time.Time, before, order app.Order, kind app.LoyaltyKind, refund app.RefundID,
) error {
	if err := returnPoints(ctx, tx, now, order); err != nil {
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
	if err != nil || change == 0 {
		return err
	}
	if change < 0 { // without the points that an earlier refund has left
		change = max(change, order.EarnedPoints()-before.EarnedPoints())
		if change, err = reversible(ctx, tx, order, change); err != nil || change == 0 {
			return err
		}
	}
	row := loyaltyRow{
		ID: app.NewID[app.LoyaltyEntryID](now), StoreID: order.StoreID, CustomerID: *order.Customer.ID,
		OrderID: order.ID, RefundID: refund, Kind: kind, Points: change, CreatedAt: now,
	}
	if _, err := tx.NewInsert().Model(&row).Exec(ctx); err != nil {
		return err
	}
	return addPoints(ctx, tx, order, change)
}

// addPoints adds points to the balance of an order's customer.
func addPoints(ctx context.Context, tx bun.Tx, order app.Order, points int64) error {
	_, err := tx.NewRaw("UPDATE customers SET loyalty_points = loyalty_points + ? WHERE store_id = ? AND id = ?",
		points, order.StoreID, order.Customer.ID).Exec(ctx)
	return err
}

// reversible returns the part of a refund's change, 0 or negative, that the balance of the customer allows: points that
// were redeemed meanwhile stay. It locks the customer. A payment changes nothing: the missing points have stayed.
func reversible(ctx context.Context, tx bun.Tx, order app.Order, change int64) (int64, error) {
	if change >= 0 {
		return 0, nil
	}
	var balance int64
	err := tx.NewRaw("SELECT loyalty_points FROM customers WHERE store_id = ? AND id = ? FOR NO KEY UPDATE",
		order.StoreID, order.Customer.ID).Scan(ctx, &balance)
	return max(change, -balance), err
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
