package ordering

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// FindCustomer returns the newest customer of a store with a phone number in E.164. It returns NOT_FOUND if nobody has
// the number.
func (db *DB) FindCustomer(ctx context.Context, store app.StoreID, phone string) (app.FoundCustomer, error) {
	var found app.FoundCustomer
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		found = app.FoundCustomer{}
		err := tx.Tx.QueryRowContext(ctx, `SELECT id, trim(first_name || ' ' || last_name), phone FROM customers
			WHERE store_id = $1 AND search_phone = $2 AND erased_at IS NULL
			ORDER BY created_at DESC, id DESC LIMIT 1`, store, phone).Scan(&found.ID, &found.Name, &found.Phone)
		if err != nil {
			return err
		}
		if last, err := lastOrder(ctx, tx, store, found.ID, "TRUE"); err != nil {
			return err
		} else if last != nil {
			found.LastOrder = &app.FoundOrder{ID: last.ID, Number: last.Number, Items: last.Items}
		}
		delivered, err := lastOrder(ctx, tx, store, found.ID, "o.delivery_address IS NOT NULL")
		if err == nil && delivered != nil {
			found.LastAddress = delivered.DeliveryAddress
		}
		return err
	})
	return found, err
}

// lastOrder returns the newest order of a customer that meets a condition, nil if there is none.
func lastOrder(
	ctx context.Context, tx bun.Tx, store app.StoreID, customer app.CustomerID, condition string,
) (*app.Order, error) {
	found, _, err := scanOrders(ctx, tx, store, selectOrders(tx).
		Where("o.store_id = ? AND o.customer_id = ?", store, customer).Where(condition).
		OrderExpr("o.created_at DESC, o.id DESC").Limit(1), oneOrder)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}
