package identity

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// customerRow is a row of the table customers without the columns of the login.
type customerRow struct {
	bun.BaseModel `bun:"table:customers,alias:c"`

	ID            app.CustomerID
	StoreID       app.StoreID
	Kind          app.CustomerKind
	Email         string
	FirstName     string
	LastName      string
	Phone         string
	LoyaltyPoints int64
	TotalOrders   int64
	ExternalID    string            `bun:"external_id"`
	Metadata      map[string]string `bun:"type:jsonb"`
	Version       int64
	CreatedAt     time.Time
	UpdatedAt     time.Time
	DisabledAt    *time.Time
	ErasedAt      *time.Time
}

func (r customerRow) customer() app.Customer {
	return app.Customer{
		ID: r.ID, Email: r.Email, FirstName: r.FirstName, LastName: r.LastName, Phone: r.Phone,
		LoyaltyPoints: r.LoyaltyPoints, TotalOrders: r.TotalOrders, StoreID: r.StoreID, Kind: r.Kind,
		ExternalID: r.ExternalID, Metadata: r.Metadata, Version: r.Version,
		CreatedAt: app.At(r.CreatedAt), UpdatedAt: app.At(r.UpdatedAt),
		Disabled: r.DisabledAt != nil, ErasedAt: pg.TimeOrNil(r.ErasedAt),
	}
}

// HasCustomer returns NOT_FOUND if the store has no such customer.
func HasCustomer(ctx context.Context, tx bun.Tx, store app.StoreID, id app.CustomerID) error {
	known, err := tx.NewSelect().TableExpr("customers").Where("store_id = ? AND id = ?", store, id).Exists(ctx)
	if err == nil && !known {
		err = app.NotFound()
	}
	return err
}

// Customer returns a customer of a store, NOT_FOUND if there is no such customer.
func (db *DB) Customer(ctx context.Context, store app.StoreID, id app.CustomerID) (app.Customer, error) {
	var row customerRow
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return tx.NewSelect().Model(&row).Where("c.store_id = ? AND c.id = ?", store, id).Scan(ctx)
	})
	return row.customer(), err
}

// Customers lists a store's customers, newest first. If own is not "", it lists only that customer. more reports
// whether further ones follow.
func (db *DB) Customers(
	ctx context.Context, store app.StoreID, own app.CustomerID, filter app.CustomerFilter, after pg.Cursor,
	limit app.PageLimit,
) (customers []app.Customer, more bool, err error) {
	var rows []customerRow
	err = db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) (err error) {
		q := listCustomers(tx, store, own, filter, after, limit.Rows+1)
		rows, more, err = pg.Page(ctx, q, limit, func(c customerRow) app.CustomerID { return c.ID })
		return err
	})
	customers = make([]app.Customer, len(rows))
	for i, row := range rows {
		customers[i] = row.customer()
	}
	return customers, more, err
}

// listCustomers builds the query of [DB.Customers].
func listCustomers(
	tx bun.Tx, store app.StoreID, own app.CustomerID, filter app.CustomerFilter, after pg.Cursor, limit int,
) *bun.SelectQuery {
	q := tx.NewSelect().Model((*customerRow)(nil)).Where("c.store_id = ?", store).
		OrderExpr("c.created_at DESC, c.id DESC").Limit(int64(limit))
	if own != "" {
		q.Where("c.id = ?", own)
	}
	if after.ID != "" {
		q.Where("(c.created_at, c.id) < (?, ?)", after.At, after.ID)
	}
	if filter.Kind != "" {
		q.Where("c.kind = ?", filter.Kind)
	}
	if filter.UpdatedSince != nil {
		q.Where("c.updated_at >= ?", filter.UpdatedSince.Time)
	}
	if filter.ExternalID != "" {
		q.Where("c.external_id = ?", filter.ExternalID)
	}
	if filter.Query != "" {
		q.WhereGroup(" AND ", func(q *bun.SelectQuery) *bun.SelectQuery { return pg.SearchPeople(q, filter.Query) })
	}
	return q
}

// ChangeCustomer applies change to a customer and emits customer.updated if the profile changed. It writes nothing if
// change changes nothing. Disabling a customer ends all sessions. It returns TOKEN_REVOKED if the caller is a customer
// whose session has ended, NOT_FOUND, VERSION_MISMATCH (version 0 matches every version), CONFLICT if two guests would
// have the same phone number, another customer has the externalId or a guest would be disabled, and the errors of
// change.
func (db *DB) ChangeCustomer(
	ctx context.Context, now time.Time, caller app.Principal, by app.Actor, id app.CustomerID, version int64,
	change func(*app.Customer) error,
) (app.Customer, error) {
	now = app.At(now).Time
	store := caller.StoreID
	var changed app.Customer
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		before, err := LockCustomerFor(ctx, tx, caller, id)
		if err != nil {
			return err
		}
		if err := pg.CheckVersion(version, before.Version); err != nil {
			return err
		}
		changed = before
		if err := change(&changed); err != nil {
			return err
		}
		fields := before.Changes(changed)
		if changed.Disabled != before.Disabled {
			if err := switchCustomer(ctx, tx, now, by, changed); err != nil {
				return err
			}
			changed.Version, changed.UpdatedAt = before.Version+1, before.UpdatedAt.OrLater(app.At(now))
		}
		if len(fields) == 0 {
			return nil
		}
		_, err = tx.Tx.ExecContext(ctx, `UPDATE customers SET first_name = $3, last_name = $4, phone = $5,
				external_id = $6, metadata = $7
			WHERE store_id = $1 AND id = $2`, store, id, changed.FirstName, changed.LastName, changed.Phone,
			changed.ExternalID, changed.Metadata)
		if pg.IsDuplicateIn(err, "guests_by_phone") {
			return app.Errorf(app.CodeConflict, "another guest already has this phone number")
		}
		if err != nil {
			return err
		}
		changed.Version = before.Version
		changed, err = EmitCustomerUpdated(ctx, tx, now, changed, fields)
		return err
	})
	return changed, db.pg.ExternalIDTaken(ctx, store, "customers", changed.ExternalID, err)
}

// switchCustomer disables or enables a locked customer and records it. It is no change of the profile
// and emits no event.
func switchCustomer(ctx context.Context, tx bun.Tx, now time.Time, by app.Actor, c app.Customer) error {
	if c.Kind == app.CustomerGuest {
		return app.Errorf(app.CodeConflict, "a guest has no account that could be disabled")
	}
	action, at := app.AuditCustomerEnabled, (*time.Time)(nil)
	if c.Disabled {
		action, at = app.AuditCustomerDisabled, &now
		if _, err := customerSessions(c.StoreID).end(ctx, tx, now, string(c.ID), "", app.EndedByAdmin); err != nil {
			return err
		}
	}
	_, err := tx.NewRaw(`UPDATE customers SET disabled_at = ?, version = version + 1,
			updated_at = greatest(updated_at, ?)
		WHERE store_id = ? AND id = ?`, at, now, c.StoreID, c.ID).Exec(ctx)
	if err != nil {
		return err
	}
	return pg.Audit(ctx, tx, now, c.StoreID, by, action, string(c.ID), nil)
}

// lockCustomer locks a customer's profile and addresses until the end of the transaction and returns
// the customer. It returns NOT_FOUND if the store has no such customer, or the customer is erased.
func lockCustomer(ctx context.Context, tx bun.Tx, store app.StoreID, id app.CustomerID) (app.Customer, error) {
	var row customerRow
	err := tx.NewSelect().Model(&row).Where("c.store_id = ? AND c.id = ? AND c.erased_at IS NULL", store, id).
		For("NO KEY UPDATE").Scan(ctx)
	return row.customer(), err
}

// LockCustomerFor is [lockCustomer] in the caller's store. It returns TOKEN_REVOKED if the caller is a customer whose
// session has ended meanwhile: a request of a former holder must not change an account after its claim.
func LockCustomerFor(
	ctx context.Context, tx bun.Tx, caller app.Principal, id app.CustomerID,
) (app.Customer, error) {
	customer, err := lockCustomer(ctx, tx, caller.StoreID, id)
	if err != nil || caller.Realm != app.RealmCustomer {
		return customer, err
	}
	return customer, customerSessions(caller.StoreID).shareLock(ctx, tx, string(caller.CustomerID), caller.SessionID)
}

// EmitCustomerUpdated increments the version of a locked customer and emits customer.updated.
func EmitCustomerUpdated(
	ctx context.Context, tx bun.Tx, now time.Time, c app.Customer, fields []string,
) (app.Customer, error) {
	c.Version, c.UpdatedAt = c.Version+1, c.UpdatedAt.OrLater(app.At(now))
	_, err := tx.NewRaw("UPDATE customers SET version = ?, updated_at = ? WHERE store_id = ? AND id = ?",
		c.Version, c.UpdatedAt.Time, c.StoreID, c.ID).Exec(ctx)
	if err != nil {
		return c, err
	}
	return c, delivery.Emit(ctx, tx, now, c.StoreID, app.EventCustomerUpdated,
		app.CustomerUpdated{Customer: c, UpdatedFields: fields})
}
