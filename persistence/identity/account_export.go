package identity

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// ExportAccount returns the stored data about a customer, except orders, reservations and loyalty points. It returns
// NOT_FOUND if the store has no such customer.
func ExportAccount(
	ctx context.Context, tx bun.Tx, store app.StoreID, id app.CustomerID,
) (app.CustomerExport, error) {
	var row customerRow
	if err := tx.NewSelect().Model(&row).Where("c.store_id = ? AND c.id = ?", store, id).Scan(ctx); err != nil {
		return app.CustomerExport{}, err
	}
	export := app.CustomerExport{Customer: row.customer()}
	for _, part := range []func(context.Context, bun.Tx, *app.CustomerExport) error{
		exportCredentials, exportAddresses, exportLogins, exportEmailChange, exportResets, exportActivities,
	} {
		if err := part(ctx, tx, &export); err != nil {
			return export, err
		}
	}
	return export, nil
}

func exportCredentials(ctx context.Context, tx bun.Tx, export *app.CustomerExport) error {
	var disabled *time.Time
	err := tx.Tx.QueryRowContext(ctx, `SELECT password_hash <> '', email_proven, disabled_at FROM customers
		WHERE store_id = $1 AND id = $2`, export.Customer.StoreID, export.Customer.ID).
		Scan(&export.Account.HasPassword, &export.Account.EmailProven, &disabled)
	export.Account.DisabledAt = pg.TimeOrNil(disabled)
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
