package ordering

import (
	"context"
	"strconv"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// ExportCustomer returns all stored data about a customer, NOT_FOUND if the store has no such customer.
func (db *DB) ExportCustomer(
	ctx context.Context, store app.StoreID, id app.CustomerID,
) (app.CustomerExport, error) {
	var export app.CustomerExport
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		var err error
		if export, err = identity.ExportAccount(ctx, tx, store, id); err != nil {
			return err
		}
		for _, part := range []func(context.Context, bun.Tx, *app.CustomerExport) error{
			exportOrders, exportStatusChanges, exportReservations, exportLoyalty,
		} {
			if err := part(ctx, tx, &export); err != nil {
				return err
			}
		}
		return nil
	})
	return export, err
}

// exportOrders adds the orders and their payments.
func exportOrders(ctx context.Context, tx bun.Tx, export *app.CustomerExport) error {
	store, id := export.Customer.StoreID, export.Customer.ID
	var orders []orderRow
	q := selectOrders(tx, &orders).Where("o.store_id = ? AND o.customer_id = ?", store, id).
		OrderExpr("o.created_at, o.id")
	var err error
	if export.Orders, _, err = scanOrders(ctx, tx, store, q, &orders); err != nil {
		return err
	}
	var payments []paymentRow
	paid := selectPayments(tx, &payments).OrderExpr("p.created_at, p.id").Where(`p.store_id = ? AND p.order_id IN (
		SELECT c.id FROM orders c WHERE c.store_id = ? AND c.customer_id = ?)`, store, store, id)
	export.Payments, err = scanPayments(ctx, tx, store, paid, &payments)
	return err
}

func exportStatusChanges(ctx context.Context, tx bun.Tx, export *app.CustomerExport) error {
	var rows []struct {
		historyRow
		Number int64
	}
	err := tx.NewRaw(`SELECT o.number, h.from_status, h.to_status, h.reason, h.actor_realm, h.at
		FROM orders o JOIN order_history h ON h.store_id = o.store_id AND h.order_id = o.id
		WHERE o.store_id = ? AND o.customer_id = ? ORDER BY h.at, o.number, h.version`,
		export.Customer.StoreID, export.Customer.ID).Scan(ctx, &rows)
	for _, r := range rows {
		export.StatusChanges = append(export.StatusChanges, app.ExportedStatusChange{
			OrderNumber: strconv.FormatInt(r.Number, 10), Realm: r.ActorRealm, From: r.FromStatus, To: r.ToStatus,
			Reason: r.Reason, At: app.At(r.At),
		})
	}
	return err
}

func exportReservations(ctx context.Context, tx bun.Tx, export *app.CustomerExport) error {
	settings, err := identity.SettingsOf(ctx, tx, export.Customer.StoreID)
	if err != nil {
		return err
	}
	var rows []reservationRow
	err = tx.NewSelect().Model(&rows).OrderExpr("r.created_at, r.id").
		Where("r.store_id = ? AND r.customer_id = ?", export.Customer.StoreID, export.Customer.ID).Scan(ctx)
	for _, row := range rows {
		reservation := row.reservation(settings.Timezone)
		reservation.ConfirmedBy = nil // customers do not see the members of the store
		export.Reservations = append(export.Reservations, reservation)
	}
	return err
}

func exportLoyalty(ctx context.Context, tx bun.Tx, export *app.CustomerExport) error {
	var rows []loyaltyRow
	err := tx.NewSelect().Model(&rows).ColumnExpr("l.*, o.number AS order_number").
		Join("JOIN orders o ON o.store_id = l.store_id AND o.id = l.order_id").
		Where("l.store_id = ? AND l.customer_id = ?", export.Customer.StoreID, export.Customer.ID).
		OrderExpr("l.created_at, l.id").Scan(ctx)
	for _, r := range rows {
		export.LoyaltyEntries = append(export.LoyaltyEntries, app.LoyaltyEntry{
			ID: r.ID, Kind: r.Kind, Points: r.Points, OrderNumber: strconv.FormatInt(r.OrderNumber, 10),
			RefundID: r.RefundID, CreatedAt: app.At(r.CreatedAt),
		})
	}
	return err
}
