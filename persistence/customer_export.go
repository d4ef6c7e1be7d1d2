package persistence

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// ExportCustomer returns all stored data about a customer, NOT_FOUND if the store has no such customer.
func (db *DB) ExportCustomer(
	ctx context.Context, store app.StoreID, id app.CustomerID,
) (app.CustomerExport, error) {
	var export app.CustomerExport
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		export = app.CustomerExport{}
		var row customerRow
		if err := tx.NewSelect().Model(&row).Where("c.store_id = ? AND c.id = ?", store, id).Scan(ctx); err != nil {
			return err
		}
		export.Customer = row.customer()
		for _, part := range []func(context.Context, bun.Tx, *app.CustomerExport) error{
			exportAccount, exportOrders, exportStatusChanges, exportReservations, exportAddresses, exportLoyalty,
			exportLogins, exportEmailChange, exportResets, exportActivities,
		} {
			if err := part(ctx, tx, &export); err != nil {
				return err
			}
		}
		return nil
	})
	return export, err
}

func exportAccount(ctx context.Context, tx bun.Tx, export *app.CustomerExport) error {
	var disabled *time.Time
	err := tx.Tx.QueryRowContext(ctx, `SELECT password_hash <> '', email_proven, disabled_at FROM customers
		WHERE store_id = $1 AND id = $2`, export.Customer.StoreID, export.Customer.ID).
		Scan(&export.Account.HasPassword, &export.Account.EmailProven, &disabled)
	export.Account.DisabledAt = pg.TimeOrNil(disabled)
	return err
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
	settings, err := settingsOf(ctx, tx, export.Customer.StoreID)
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

func exportAddresses(ctx context.Context, tx bun.Tx, export *app.CustomerExport) error {
	var rows []addressRow
	err := tx.NewSelect().Model(&rows).OrderExpr("a.created_at, a.id").
		Where("a.store_id = ? AND a.customer_id = ?", export.Customer.StoreID, export.Customer.ID).Scan(ctx)
	for _, row := range rows {
		export.Addresses = append(export.Addresses, row.address())
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

// exportLogins adds the identities and the sessions.
func exportLogins(ctx context.Context, tx bun.Tx, export *app.CustomerExport) error {
	store, id := export.Customer.StoreID, export.Customer.ID
	var identities []struct {
		Provider  app.Provider
		Subject   string
		CreatedAt time.Time
	}
	err := tx.NewRaw(`SELECT provider, subject, created_at FROM customer_identities
		WHERE store_id = ? AND customer_id = ? ORDER BY created_at, provider, subject`, store, id).
		Scan(ctx, &identities)
	if err != nil {
		return err
	}
	for _, i := range identities {
		export.Identities = append(export.Identities, app.ExportedIdentity{
			Provider: i.Provider, Subject: i.Subject, CreatedAt: app.At(i.CreatedAt),
		})
	}
	var sessions []struct {
		CreatedAt  time.Time
		LastUsedAt time.Time
		ExpiresAt  time.Time
		EndedAt    *time.Time
		Address    string
		UserAgent  string
	}
	err = tx.NewRaw(`SELECT created_at, coalesce(rotated_at, created_at) AS last_used_at, expires_at, ended_at, address,
			user_agent
		FROM customer_sessions WHERE store_id = ? AND customer_id = ? ORDER BY created_at, id`, store, id).
		Scan(ctx, &sessions)
	for _, s := range sessions {
		export.Sessions = append(export.Sessions, app.ExportedSession{
			CreatedAt: app.At(s.CreatedAt), LastUsedAt: app.At(s.LastUsedAt), ExpiresAt: app.At(s.ExpiresAt),
			EndedAt: pg.TimeOrNil(s.EndedAt), Address: s.Address, UserAgent: s.UserAgent,
		})
	}
	return err
}

func exportEmailChange(ctx context.Context, tx bun.Tx, export *app.CustomerExport) error {
	var change app.EmailChange
	err := tx.Tx.QueryRowContext(ctx, `SELECT email, created_at, expires_at FROM customer_email_changes
		WHERE store_id = $1 AND customer_id = $2`, export.Customer.StoreID, export.Customer.ID).
		Scan(&change.Email, &change.CreatedAt.Time, &change.ExpiresAt.Time)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	change.CreatedAt, change.ExpiresAt = app.At(change.CreatedAt.Time), app.At(change.ExpiresAt.Time)
	export.EmailChange = &change
	return err
}

func exportResets(ctx context.Context, tx bun.Tx, export *app.CustomerExport) error {
	var resets []struct{ CreatedAt, ExpiresAt time.Time }
	err := tx.NewRaw(`SELECT created_at, expires_at FROM customer_password_resets
		WHERE store_id = ? AND customer_id = ? ORDER BY created_at, id`, export.Customer.StoreID, export.Customer.ID).
		Scan(ctx, &resets)
	for _, r := range resets {
		export.PasswordResets = append(export.PasswordResets, app.ExportedReset{
			CreatedAt: app.At(r.CreatedAt), ExpiresAt: app.At(r.ExpiresAt),
		})
	}
	return err
}

// exportActivities adds the actions of the customer, failed logins, and the actions of other callers on the account.
// The addresses of other callers are omitted.
func exportActivities(ctx context.Context, tx bun.Tx, export *app.CustomerExport) error {
	var rows []auditRow
	err := tx.NewRaw(`SELECT action, actor_realm, CASE actor_realm WHEN 'customer' THEN address ELSE '' END AS address,
			at
		FROM audit WHERE store_id = ?0 AND (actor_realm = 'customer' AND actor_id = ?1 OR target = ?1)
		ORDER BY at DESC, id DESC LIMIT ?2`,
		export.Customer.StoreID, export.Customer.ID, maxActivities).Scan(ctx, &rows)
	slices.Reverse(rows)
	for _, r := range rows {
		export.Activities = append(export.Activities, app.ExportedActivity{
			Action: r.Action, Realm: r.ActorRealm, Address: r.Address, At: app.At(r.At),
		})
	}
	return err
}

// maxActivities limits the entries of an export: many failed logins can be another person's.
const maxActivities = 10_000
