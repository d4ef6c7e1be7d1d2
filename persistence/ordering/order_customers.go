package ordering

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// orderingCustomer returns the customer of an order and increments the customer's number of orders. A named customer
// must exist, otherwise VALIDATION_FAILED. A guest is recognised by email, or by phone number if there is no email; a
// new guest emits customer.created. No customer is kept of a guest with neither. day is the business date of now.
func orderingCustomer(
	ctx context.Context, tx bun.Tx, now time.Time, day string, store app.StoreID, order app.NewOrder,
) (app.OrderCustomer, error) {
	if order.CustomerID != "" {
		return knownCustomer(ctx, tx, store, order.CustomerID)
	}
	if !order.Guest.IsKept() {
		return order.Guest, nil
	}
	guest := app.Customer{
		ID: app.NewID[app.CustomerID](now), StoreID: store, Kind: app.CustomerGuest, Email: order.Guest.Email,
		FirstName: order.Guest.Name, Phone: order.Guest.Phone, TotalOrders: 1, Metadata: map[string]string{},
		Version: 1, CreatedAt: app.At(now), UpdatedAt: app.At(now),
	}
	// The index in which a known guest conflicts.
	uniqueIndex := "(store_id, kind, lower(email)) WHERE email <> ''"
	if guest.Email == "" {
		uniqueIndex = "(store_id, phone) WHERE kind = 'guest' AND email = '' AND phone <> ''"
	}
	var id app.CustomerID
	err := tx.Tx.QueryRowContext(ctx, `INSERT INTO customers AS c
			(id, store_id, kind, email, first_name, phone, total_orders, business_date, created_at, updated_at)
		VALUES ($1, $2, 'guest', $3, $4, $5, 1, $6, $7, $7)
		ON CONFLICT `+uniqueIndex+` DO UPDATE SET total_orders = c.total_orders + 1
		RETURNING id`, guest.ID, store, guest.Email, guest.FirstName, guest.Phone, day, now).Scan(&id)
	if err != nil {
		return app.OrderCustomer{}, err
	}
	if id == guest.ID {
		if err := delivery.Emit(ctx, tx, now, store, app.EventCustomerCreated, guest); err != nil {
			return app.OrderCustomer{}, err
		}
	}
	customer := order.Guest
	customer.ID = &id
	return customer, nil
}

// customerAt is the customer of order o at a version, NULL if it had none and has none now. A time without a customer
// belongs to the next one.
func customerAt(version string) string {
	return `coalesce((SELECT f.former_customer FROM order_history f
		WHERE f.store_id = o.store_id AND f.order_id = o.id AND f.version > ` + version + `
			AND f.former_customer IS NOT NULL
		ORDER BY f.version LIMIT 1), o.customer_id)`
}

// ownItemChanges are the changes of items in history row h of order o, with the items from the time of a customer.
func ownItemChanges(customer string) string {
	without := func(side, version string) string {
		return ` - CASE WHEN ` + customerAt(version) + ` = ` + customer + ` THEN '' ELSE '` + side + `' END`
	}
	return `CASE WHEN h.item_changes IS NOT NULL THEN (
		SELECT coalesce(jsonb_agg(c` + without("before", "h.version - 1") + without("after", "h.version") + `
			ORDER BY n), '[]')
		FROM jsonb_array_elements(h.item_changes) WITH ORDINALITY AS x (c, n)) END`
}

// canOrder returns VALIDATION_FAILED if the store has no such customer, or the customer is erased.
func canOrder(ctx context.Context, tx bun.Tx, store app.StoreID, id app.CustomerID) error {
	var known bool
	err := tx.Tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM customers
		WHERE store_id = $1 AND id = $2 AND erased_at IS NULL)`, store, id).Scan(&known)
	if err == nil && !known {
		err = errNotACustomer()
	}
	return err
}

func errNotACustomer() error { return app.Invalid("customerId", "is not a customer of this store") }

func knownCustomer(ctx context.Context, tx bun.Tx, store app.StoreID, id app.CustomerID) (app.OrderCustomer, error) {
	var c app.OrderCustomer
	err := tx.Tx.QueryRowContext(ctx, `UPDATE customers SET total_orders = total_orders + 1
		WHERE store_id = $1 AND id = $2 AND erased_at IS NULL
		RETURNING id, trim(first_name || ' ' || last_name), email, phone`, store, id).
		Scan(&c.ID, &c.Name, &c.Email, &c.Phone)
	if app.CodeOf(pg.Classify(err)) == app.CodeNotFound {
		return c, errNotACustomer()
	}
	return c, err
}
