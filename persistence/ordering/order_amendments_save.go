package ordering

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// setCustomer gives the order to another customer, or to nobody: the counts of both change. It returns
// VALIDATION_FAILED for an unknown customer.
func (a *amendment) setCustomer(ctx context.Context, tx bun.Tx) error {
	wanted, member := app.NewOrder{CustomerID: a.CustomerID}, "customerId"
	if a.Guest != nil {
		wanted.Guest, member = *a.Guest, "customer"
	}
	if same, err := a.keepsCustomer(ctx, tx); same || err != nil {
		return err
	}
	if a.row.LoyaltyPoints > 0 {
		return app.Errorf(app.CodeConflict, "the customer of an order with redeemed loyalty points cannot change")
	}
	if err := a.lockCustomers(ctx, tx, wanted); err != nil {
		return err
	}
	customer, err := orderingCustomer(ctx, tx, a.now, a.row.BusinessDate, a.row.StoreID, wanted)
	if err != nil {
		return err
	}
	_, err = tx.Tx.ExecContext(ctx, `UPDATE customers SET total_orders = total_orders - 1
		WHERE store_id = $1 AND id = $2`, a.row.StoreID, a.row.CustomerID)
	a.row.CustomerID, a.row.CustomerName, a.row.CustomerEmail, a.row.CustomerPhone = customer.ID, customer.Name,
		customer.Email, customer.Phone
	a.changed = append(a.changed, member)
	return err
}

// keepsCustomer reports whether the request names no other customer. A guest with the same name, email and phone number
// is the same one; an account is not a guest.
func (a *amendment) keepsCustomer(ctx context.Context, tx bun.Tx) (bool, error) {
	if a.Guest == nil {
		return a.CustomerID == "" || isCustomer(a.row.CustomerID, a.CustomerID), nil
	}
	if !a.Guest.SameGuest(a.before.Customer) || a.row.CustomerID == nil {
		return a.Guest.SameGuest(a.before.Customer), nil
	}
	var kind app.CustomerKind
	err := tx.Tx.QueryRowContext(ctx, "SELECT kind FROM customers WHERE store_id = $1 AND id = $2", a.row.StoreID,
		a.row.CustomerID).Scan(&kind)
	return kind == app.CustomerGuest, err
}

// isCustomer reports whether the customer of an order, nil if it has none, is the given one.
func isCustomer(of *app.CustomerID, id app.CustomerID) bool { return of != nil && *of == id }

// lockCustomers locks the former customer and the wanted one, if there is a row, by id: changes that exchange the
// customers of orders do not deadlock.
func (a *amendment) lockCustomers(ctx context.Context, tx bun.Tx, wanted app.NewOrder) error {
	_, err := tx.Tx.ExecContext(ctx, `SELECT FROM customers WHERE store_id = $1 AND (id IN ($2, $3)
			OR $4 <> '' AND kind = 'guest' AND email <> '' AND lower(email) = lower($4)
			OR $4 = '' AND $5 <> '' AND kind = 'guest' AND email = '' AND phone = $5)
		ORDER BY id FOR NO KEY UPDATE`, a.row.StoreID, a.row.CustomerID, wanted.CustomerID, wanted.Guest.Email,
		wanted.Guest.Phone)
	return err
}

// save writes the changed order, its event and its history.
func (a *amendment) save(ctx context.Context, tx bun.Tx) (app.Order, error) {
	if err := a.checkNumber(ctx, tx); err != nil {
		return app.Order{}, err
	}
	if err := settleRedemption(ctx, tx, a.now, a.before, a.row.order(a.items), app.PointsRedeemed); err != nil {
		return app.Order{}, err
	}
	a.row.Version++
	a.row.UpdatedAt = a.before.UpdatedAt.OrLater(app.At(a.now)).Time
	r := a.row
	_, err := tx.Tx.ExecContext(ctx, `UPDATE orders SET customer_id = $3, customer_name = $4, customer_email = $5,
			customer_phone = $6, subtotal_minor = $7, discount_minor = $8, tax_minor = $9, taxes = $10,
				total_minor = $11,
			item_count = $12, note = $13, table_label = $14, delivery_address = $15, requested_for = $16,
			promised_at = $17, due_at = $18, version = $19, updated_at = $20, delivery_fee_minor = $21
		WHERE store_id = $1 AND id = $2`, r.StoreID, r.ID, r.CustomerID, r.CustomerName, r.CustomerEmail,
		r.CustomerPhone, r.SubtotalMinor, r.DiscountMinor, r.TaxMinor, r.Taxes, r.TotalMinor, r.ItemCount, r.Note,
		r.TableLabel, r.DeliveryAddress, r.RequestedFor, r.PromisedAt, r.DueAt, r.Version, r.UpdatedAt,
		r.DeliveryFeeMinor)
	if err != nil {
		return app.Order{}, err
	}
	if slices.Contains(a.changed, "items") || slices.Contains(a.changed, "discountMinor") {
		if err := a.replaceItems(ctx, tx); err != nil {
			return app.Order{}, err
		}
	}
	order := r.order(a.items)
	if a.before.LowersTotal(order.TotalMinor) && a.By.Realm == app.RealmTenant {
		err := pg.Audit(ctx, tx, a.now, order.StoreID, a.By, app.AuditTotalLowered, string(order.ID), map[string]any{
			"orderId": order.Number, "currency": order.Currency,
			"totalMinor": app.SettingsChange{From: a.before.TotalMinor, To: order.TotalMinor},
		})
		if err != nil {
			return app.Order{}, err
		}
	}
	if order.Status == app.OrderReceived && slices.Contains(a.changed, "requestedFor") {
		if err := restartAcceptance(ctx, tx, a.now, order); err != nil {
			return app.Order{}, err
		}
	}
	return order, a.report(ctx, tx, order)
}

// checkNumber returns LIMIT_REACHED if the order has the largest number of changes.
func (a *amendment) checkNumber(ctx context.Context, tx bun.Tx) error {
	if a.row.Version <= app.MaxAmendments { // each change makes a version
		return nil
	}
	var made int
	err := tx.Tx.QueryRowContext(ctx, `SELECT count(*) FROM order_history
		WHERE store_id = $1 AND order_id = $2 AND to_status IS NULL`, a.row.StoreID, a.row.ID).Scan(&made)
	if err == nil && made >= app.MaxAmendments {
		err = app.TooManyAmendments()
	}
	return err
}

// replaceItems writes the items. The rows of their products in the analytics are locked by id before, as by a new order
// and a cancellation; the rows of options are protected by those of their products.
func (a *amendment) replaceItems(ctx context.Context, tx bun.Tx) error {
	products := map[app.ProductID]bool{}
	for i := range a.items {
		a.items[i].OrderID, a.items[i].BusinessDate = a.row.ID, a.row.BusinessDate
	}
	for _, item := range slices.Concat(a.oldItems, a.items) {
		products[item.ProductID] = true
	}
	_, err := tx.Tx.ExecContext(ctx, `INSERT INTO product_sales AS p (store_id, business_date, product_id, currency,
			quantity, net_minor)
		SELECT $1, $2::date, id, $3, 0, 0 FROM unnest($4::text[]) id ORDER BY id
		ON CONFLICT (store_id, business_date, product_id, currency) DO UPDATE SET quantity = p.quantity`,
		a.row.StoreID, a.row.BusinessDate, a.row.Currency, slices.Sorted(maps.Keys(products)))
	if err != nil {
		return err
	}
	_, err = tx.Tx.ExecContext(ctx, "DELETE FROM order_items WHERE store_id = $1 AND order_id = $2", a.row.StoreID,
		a.row.ID)
	if err != nil {
		return err
	}
	return pg.InsertPrepared(ctx, tx, a.items...)
}

// report emits order.updated and adds the change to the order's history.
func (a *amendment) report(ctx context.Context, tx bun.Tx, order app.Order) error {
	data := app.OrderUpdated{
		Order: order, ChangedFields: a.changed, ItemChanges: app.ItemChanges(a.before.Items, order.Items),
	}
	// After customer.created of the same change.
	event, err := delivery.Emitted(ctx, tx, a.now.Add(time.Microsecond), order.StoreID, app.EventOrderUpdated, data)
	if err != nil {
		return err
	}
	former := a.before.Customer.ID
	if former != nil && isCustomer(order.Customer.ID, *former) {
		former = nil
	}
	_, err = tx.Tx.ExecContext(ctx, `INSERT INTO order_history (order_id, store_id, version, reason, changed_fields,
			item_changes, before, former_customer, event_number, actor_realm, actor_id, event_id, at)
		VALUES ($1, $2, $3, '', $4, $5, $6, $7::text,
			CASE WHEN $7::text IS NOT NULL THEN (SELECT number FROM outbox WHERE id = $10) END, $8, $9, $10, $11)`,
		order.ID, order.StoreID, order.Version,
		data.ChangedFields, data.ItemChanges, app.AmendableOf(a.before), former, a.By.Realm, a.By.ID, event,
		order.UpdatedAt.Time)
	if err != nil {
		return err
	}
	return notifyOrder(ctx, order)
}
