package ordering

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// canRedeem returns VALIDATION_FAILED unless the customer of a new order has an account and the store takes the points.
func canRedeem(ctx context.Context, tx bun.Tx, store app.StoreID, in app.NewOrder, rules storeRules) error {
	var kind app.CustomerKind
	err := tx.Tx.QueryRowContext(ctx, "SELECT kind FROM customers WHERE store_id = $1 AND id = $2", store,
		in.CustomerID).Scan(&kind)
	if err != nil {
		return err
	}
	if kind != app.CustomerRegistered {
		return app.NotForGuests()
	}
	return rules.loyalty().Check(in.LoyaltyPoints, rules.View.Currency)
}

// redeem lowers the amounts of a priced order by the worth of points.
func (r *orderRow) redeem(points int64, loyalty app.Loyalty, items []itemRow) error {
	worth, err := loyalty.Worth(points, r.Currency, r.SubtotalMinor-r.DiscountMinor)
	if err != nil {
		return err
	}
	r.LoyaltyPoints, r.LoyaltyMinor = points, worth
	return r.price(items)
}

// hasPoints returns CONFLICT if the customer has fewer points than the order redeems.
func hasPoints(ctx context.Context, tx bun.Tx, store app.StoreID, in app.NewOrder) error {
	if in.LoyaltyPoints == 0 {
		return nil
	}
	var balance int64
	err := tx.Tx.QueryRowContext(ctx, "SELECT loyalty_points FROM customers WHERE store_id = $1 AND id = $2", store,
		in.CustomerID).Scan(&balance)
	if err == nil && balance < in.LoyaltyPoints {
		err = app.TooFewPoints()
	}
	return err
}

// takePoints subtracts the points of a new order from the balance of its customer, whose row stays locked. It returns
// CONFLICT if there are too few.
func takePoints(ctx context.Context, tx bun.Tx, store app.StoreID, in app.NewOrder) error {
	if in.LoyaltyPoints == 0 {
		return nil
	}
	result, err := tx.Tx.ExecContext(ctx, `UPDATE customers SET loyalty_points = loyalty_points - $3
		WHERE store_id = $1 AND id = $2 AND loyalty_points >= $3`, store, in.CustomerID, in.LoyaltyPoints)
	if err != nil {
		return err
	}
	if changed, err := result.RowsAffected(); err != nil || changed == 1 {
		return err
	}
	return app.TooFewPoints()
}

// recordRedemption adds the entry of the points that an order redeems to the ledger.
func recordRedemption(
	ctx context.Context, tx bun.Tx, now time.Time, order app.Order, customer app.CustomerID,
) error {
	if order.LoyaltyPoints == 0 {
		return nil
	}
	row := loyaltyRow{
		ID: app.NewID[app.LoyaltyEntryID](now), StoreID: order.StoreID, CustomerID: customer, OrderID: order.ID,
		Kind: app.PointsRedeemed, Points: -order.LoyaltyPoints, CreatedAt: now,
	}
	_, err := tx.NewInsert().Model(&row).Exec(ctx)
	return err
}

// settleRedemption returns the redeemed points of a locked order when [app.Order.ReturnsPoints] becomes true, and takes
// them again when it becomes false. If the customer has too few by then, a payment takes those; any other change
// returns CONFLICT.
func settleRedemption(
	ctx context.Context, tx bun.Tx, now time.Time, before, order app.Order, kind app.LoyaltyKind,
) error {
	if order.LoyaltyPoints == 0 || order.ReturnsPoints() == before.ReturnsPoints() {
		return nil
	}
	if order.ReturnsPoints() {
		var taken int64
		err := tx.NewRaw(`SELECT coalesce(-sum(points), 0)::bigint FROM loyalty_entries
			WHERE store_id = ? AND order_id = ? AND kind IN (?, ?)`, order.StoreID, order.ID, app.PointsRedeemed,
			app.PointsReturned).Scan(ctx, &taken)
		if err != nil {
			return err
		}
		return addEntry(ctx, tx, now, order, loyaltyRow{Kind: app.PointsReturned, Points: taken})
	}
	balance, err := lockBalance(ctx, tx, order)
	if err != nil {
		return err
	}
	if balance < order.LoyaltyPoints && kind != app.PointsRestored {
		return app.TooFewPoints()
	}
	return addEntry(ctx, tx, now, order, loyaltyRow{
		Kind: app.PointsRedeemed, Points: -min(balance, order.LoyaltyPoints),
	})
}
