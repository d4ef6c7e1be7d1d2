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

// returnPoints returns the redeemed points of a locked order once, when [app.Order.ReturnsPoints] is true.
func returnPoints(ctx context.Context, tx bun.Tx, now time.Time, order app.Order) error {
	if order.LoyaltyPoints == 0 || !order.ReturnsPoints() {
		return nil
	}
	result, err := tx.Tx.ExecContext(ctx, `INSERT INTO loyalty_entries
			(id, store_id, customer_id, order_id, kind, points, created_at)
		SELECT $1, store_id, customer_id, id, $2, loyalty_points, $3 FROM orders WHERE store_id = $4 AND id = $5
		ON CONFLICT (order_id, kind) WHERE kind IN ('EARNED', 'REDEEMED', 'RETURNED') DO NOTHING`,
		app.NewID[app.LoyaltyEntryID](now), app.PointsReturned, now, order.StoreID, order.ID)
	if err != nil {
		return err
	}
	if added, err := result.RowsAffected(); err != nil || added == 0 {
		return err
	}
	return addPoints(ctx, tx, order, order.LoyaltyPoints)
}
