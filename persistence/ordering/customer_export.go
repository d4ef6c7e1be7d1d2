package ordering

import (
	"context"
	"math"
	"strconv"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// ExportCustomer calls each with all stored data about a customer, as of one moment, in parts: the first one has the
// members that are not lists, each further one has at most [pg.PageRows] elements of one list, in the order of the
// members. It returns NOT_FOUND if the store has no such customer.
func (db *DB) ExportCustomer(
	ctx context.Context, store app.StoreID, id app.CustomerID, each func(app.CustomerExport) error,
) error {
	return db.pg.SnapshotOf(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		account, err := identity.ExportAccount(ctx, tx, store, id)
		if err != nil {
			return err
		}
		if err := each(account); err != nil {
			return err
		}
		e := export{identity.Export{Tx: tx, Store: store, Customer: id, Each: each}}
		for _, list := range []func(context.Context) error{
			e.Addresses, e.orders, e.statusChanges, e.payments, e.reservations, e.loyaltyEntries, e.Logins,
		} {
			if err := list(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// export exports the orders of a customer, with their payments and points, and the reservations.
type export struct{ identity.Export }

// everHeld are the orders that customer ?1 of store ?0 has or had.
const everHeld = `(SELECT id FROM orders WHERE store_id = ?0 AND customer_id = ?1
	UNION ALL SELECT order_id FROM order_history WHERE store_id = ?0 AND former_customer = ?1)`

func (e export) orders(ctx context.Context) error {
	q := selectOrders(e.Tx).Where("o.store_id = ? AND o.customer_id = ?", e.Store, e.Customer).
		OrderExpr("o.created_at, o.id")
	return pg.Pages(ctx, e.Tx, q, func(rows []orderRow) error {
		items, _, err := itemsOf(ctx, e.Tx, e.Store, rows, app.PageLimit{Rows: len(rows), Bytes: math.MaxInt})
		if err != nil {
			return err
		}
		return e.Each(app.CustomerExport{Orders: withItems(rows, items)})
	})
}

func (e export) statusChanges(ctx context.Context) error {
	type change struct {
		historyRow
		Number int64
		Before *app.Amendable `bun:"type:jsonb"`
	}
	q := e.Tx.NewRaw(`SELECT o.number, h.from_status, h.to_status, h.reason, h.changed_fields,
		`+ownItemChanges("?1")+` AS item_changes, h.actor_realm, h.at,
			CASE WHEN h.before #>> '{customer,id}' = ?1 THEN h.before END AS before
		FROM orders o JOIN order_history h ON h.store_id = o.store_id AND h.order_id = o.id
		WHERE o.store_id = ?0 AND o.id IN `+everHeld+`
			AND ?1 IN (`+customerAt("h.version - 1")+`, `+customerAt("h.version")+`)
		ORDER BY h.at, o.number, h.version`, e.Store, e.Customer)
	return pg.Pages(ctx, e.Tx, q, func(rows []change) error {
		var part app.CustomerExport
		for _, r := range rows {
			c := r.change()
			part.StatusChanges = append(part.StatusChanges, app.ExportedStatusChange{
				OrderNumber: strconv.FormatInt(r.Number, 10), Type: c.Type, Realm: r.ActorRealm, From: c.From, To: c.To,
				Reason: c.Reason, ChangedFields: c.ChangedFields, ItemChanges: c.ItemChanges, Before: r.Before,
				At: c.At,
			})
		}
		return e.Each(part)
	})
}

func (e export) payments(ctx context.Context) error {
	q := selectPayments(e.Tx, new([]paymentRow)).OrderExpr("p.created_at, p.id").
		Where("p.store_id = ?0 AND o.id IN "+everHeld+" AND "+customerAt("p.order_version")+" = ?1", e.Store,
			e.Customer)
	return pg.Pages(ctx, e.Tx, q, func(rows []paymentRow) error {
		payments, err := withRefunds(ctx, e.Tx, e.Store, e.Customer, rows)
		if err != nil {
			return err
		}
		return e.Each(app.CustomerExport{Payments: payments})
	})
}

func (e export) reservations(ctx context.Context) error {
	settings, err := identity.SettingsOf(ctx, e.Tx, e.Store)
	if err != nil {
		return err
	}
	q := e.Tx.NewSelect().Model(new([]reservationRow)).OrderExpr("r.created_at, r.id").
		Where("r.store_id = ? AND r.customer_id = ?", e.Store, e.Customer)
	return pg.Pages(ctx, e.Tx, q, func(rows []reservationRow) error {
		var part app.CustomerExport
		for _, row := range rows {
			reservation := row.reservation(settings.Timezone)
			reservation.ConfirmedBy = nil // customers do not see the members of the store
			part.Reservations = append(part.Reservations, reservation)
		}
		return e.Each(part)
	})
}

func (e export) loyaltyEntries(ctx context.Context) error {
	q := e.Tx.NewSelect().Model(new([]loyaltyRow)).ColumnExpr("l.*, o.number AS order_number").
		Join("JOIN orders o ON o.store_id = l.store_id AND o.id = l.order_id").
		Where("l.store_id = ? AND l.customer_id = ?", e.Store, e.Customer).OrderExpr("l.created_at, l.id")
	return pg.Pages(ctx, e.Tx, q, func(rows []loyaltyRow) error {
		var part app.CustomerExport
		for _, r := range rows {
			part.LoyaltyEntries = append(part.LoyaltyEntries, app.LoyaltyEntry{
				ID: r.ID, Kind: r.Kind, Points: r.Points, OrderNumber: strconv.FormatInt(r.OrderNumber, 10),
				RefundID: r.RefundID, CreatedAt: app.At(r.CreatedAt),
			})
		}
		return e.Each(part)
	})
}
