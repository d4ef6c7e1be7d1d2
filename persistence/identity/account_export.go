package identity

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// ExportAccount returns the members of an export that are not lists. It returns NOT_FOUND if the store has no such
// customer.
func ExportAccount(
	ctx context.Context, tx bun.Tx, store app.StoreID, id app.CustomerID,
) (app.CustomerExport, error) {
	var row customerRow
	if err := tx.NewSelect().Model(&row).Where("c.store_id = ? AND c.id = ?", store, id).Scan(ctx); err != nil {
		return app.CustomerExport{}, err
	}
	export := app.CustomerExport{Customer: row.customer()}
	var disabled *time.Time
	err := tx.NewRaw(`SELECT password_hash <> '', email_proven, disabled_at FROM customers
		WHERE store_id = ? AND id = ?`, store, id).
		Scan(ctx, &export.Account.HasPassword, &export.Account.EmailProven, &disabled)
	if err != nil {
		return app.CustomerExport{}, err
	}
	export.Account.DisabledAt = pg.TimeOrNil(disabled)
	export.EmailChange, err = emailChange(ctx, tx, store, id)
	return export, err
}

// emailChange returns the requested change of a customer's email, nil if there is none.
func emailChange(ctx context.Context, tx bun.Tx, store app.StoreID, id app.CustomerID) (*app.EmailChange, error) {
	var change app.EmailChange
	err := tx.NewRaw(`SELECT email, created_at, expires_at FROM customer_email_changes
		WHERE store_id = ? AND customer_id = ?`, store, id).
		Scan(ctx, &change.Email, &change.CreatedAt.Time, &change.ExpiresAt.Time)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	change.CreatedAt, change.ExpiresAt = app.At(change.CreatedAt.Time), app.At(change.ExpiresAt.Time)
	return &change, err
}

// Export exports the data of one customer. Each receives the lists in parts, in the order of their members. A part has
// at most [pg.PageRows] elements.
type Export struct {
	Tx       bun.Tx
	Store    app.StoreID
	Customer app.CustomerID
	Each     func(app.CustomerExport) error
}

// Addresses exports the addresses.
func (e Export) Addresses(ctx context.Context) error {
	q := e.Tx.NewSelect().Model(new([]addressRow)).OrderExpr("a.created_at, a.id").
		Where("a.store_id = ? AND a.customer_id = ?", e.Store, e.Customer)
	return pg.Pages(ctx, e.Tx, q, func(rows []addressRow) error {
		var part app.CustomerExport
		for _, row := range rows {
			part.Addresses = append(part.Addresses, row.address())
		}
		return e.Each(part)
	})
}

// Logins exports the identities, sessions, password resets and activities.
func (e Export) Logins(ctx context.Context) error {
	for _, list := range []func(context.Context) error{e.identities, e.sessions, e.resets, e.activities} {
		if err := list(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (e Export) identities(ctx context.Context) error {
	type row struct {
		Provider  app.Provider
		Subject   string
		CreatedAt time.Time
	}
	q := e.Tx.NewRaw(`SELECT provider, subject, created_at FROM customer_identities
		WHERE store_id = ? AND customer_id = ? ORDER BY created_at, provider, subject`, e.Store, e.Customer)
	return pg.Pages(ctx, e.Tx, q, func(rows []row) error {
		var part app.CustomerExport
		for _, r := range rows {
			part.Identities = append(part.Identities, app.ExportedIdentity{
				Provider: r.Provider, Subject: r.Subject, CreatedAt: app.At(r.CreatedAt),
			})
		}
		return e.Each(part)
	})
}

func (e Export) sessions(ctx context.Context) error {
	type row struct {
		CreatedAt  time.Time
		LastUsedAt time.Time
		ExpiresAt  time.Time
		EndedAt    *time.Time
		Address    string
		UserAgent  string
	}
	q := e.Tx.NewRaw(`SELECT created_at, coalesce(rotated_at, created_at) AS last_used_at, expires_at, ended_at,
			address, user_agent
		FROM customer_sessions WHERE store_id = ? AND customer_id = ? ORDER BY created_at, id`, e.Store, e.Customer)
	return pg.Pages(ctx, e.Tx, q, func(rows []row) error {
		var part app.CustomerExport
		for _, r := range rows {
			part.Sessions = append(part.Sessions, app.ExportedSession{
				CreatedAt: app.At(r.CreatedAt), LastUsedAt: app.At(r.LastUsedAt), ExpiresAt: app.At(r.ExpiresAt),
				EndedAt: pg.TimeOrNil(r.EndedAt), Address: r.Address, UserAgent: r.UserAgent,
			})
		}
		return e.Each(part)
	})
}

func (e Export) resets(ctx context.Context) error {
	type row struct{ CreatedAt, ExpiresAt time.Time }
	q := e.Tx.NewRaw(`SELECT created_at, expires_at FROM customer_password_resets
		WHERE store_id = ? AND customer_id = ? ORDER BY created_at, id`, e.Store, e.Customer)
	return pg.Pages(ctx, e.Tx, q, func(rows []row) error {
		var part app.CustomerExport
		for _, r := range rows {
			part.PasswordResets = append(part.PasswordResets, app.ExportedReset{
				CreatedAt: app.At(r.CreatedAt), ExpiresAt: app.At(r.ExpiresAt),
			})
		}
		return e.Each(part)
	})
}

// activities exports the actions of the customer, failed logins, and the actions of other callers on the account.
// The addresses of other callers are omitted.
func (e Export) activities(ctx context.Context) error {
	q := e.Tx.NewRaw(`SELECT action, actor_realm, address, at FROM (
			SELECT action, actor_realm, CASE actor_realm WHEN 'customer' THEN address ELSE '' END AS address, at, id
			FROM audit WHERE store_id = ?0 AND (actor_realm = 'customer' AND actor_id = ?1 OR target = ?1)
			ORDER BY at DESC, id DESC LIMIT ?2
		) AS newest ORDER BY at, id`, e.Store, e.Customer, maxActivities)
	return pg.Pages(ctx, e.Tx, q, func(rows []auditRow) error {
		var part app.CustomerExport
		for _, r := range rows {
			part.Activities = append(part.Activities, app.ExportedActivity{
				Action: r.Action, Realm: r.ActorRealm, Address: r.Address, At: app.At(r.At),
			})
		}
		return e.Each(part)
	})
}

// maxActivities limits the entries of an export: many failed logins can be another person's.
const maxActivities = 10_000
