package identity

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// addressRow is a row of the table addresses. A change requires the lock of the customer, see
// lockCustomer.
type addressRow struct {
	bun.BaseModel `bun:"table:addresses,alias:a"`

	ID         app.AddressID
	StoreID    app.StoreID
	CustomerID app.CustomerID
	Label      string
	Address    app.DeliveryAddress `bun:"type:jsonb"`
	IsDefault  bool
	Version    int64
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

func (r addressRow) address() app.Address {
	return app.Address{
		ID: r.ID, Label: r.Label, DeliveryAddress: r.Address, IsDefault: r.IsDefault, Version: r.Version,
		CreatedAt: app.At(r.CreatedAt), UpdatedAt: app.At(r.UpdatedAt),
	}
}

// Addresses lists a customer's addresses, newest first. It returns NOT_FOUND if the store has no such
// customer.
func (db *DB) Addresses(
	ctx context.Context, store app.StoreID, customer app.CustomerID, after pg.Cursor, limit int,
) ([]app.Address, error) {
	var rows []addressRow
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		if err := HasCustomer(ctx, tx, store, customer); err != nil {
			return err
		}
		rows = nil
		q := tx.NewSelect().Model(&rows).Where("a.store_id = ? AND a.customer_id = ?", store, customer).
			OrderExpr("a.created_at DESC, a.id DESC").Limit(int64(limit))
		if after.ID != "" {
			q.Where("(a.created_at, a.id) < (?, ?)", after.At, after.ID)
		}
		return q.Scan(ctx)
	})
	addresses := make([]app.Address, len(rows))
	for i, row := range rows {
		addresses[i] = row.address()
	}
	return addresses, err
}

// CheckAddress returns NOT_FOUND if the customer of a store has no such address.
func (db *DB) CheckAddress(
	ctx context.Context, store app.StoreID, customer app.CustomerID, id app.AddressID,
) error {
	return db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		known, err := tx.NewSelect().TableExpr("addresses").
			Where("store_id = ? AND customer_id = ? AND id = ?", store, customer, id).Exists(ctx)
		if err == nil && !known {
			err = app.NotFound()
		}
		return err
	})
}

// AddAddress adds an address of a customer and emits customer.updated. The first address becomes the
// default. It returns NOT_FOUND if the store has no such customer, TOKEN_REVOKED if the caller's session has ended,
// LIMIT_REACHED, and the errors of [pg.RunOnce].
func (db *DB) AddAddress(
	ctx context.Context, now time.Time, caller app.Principal, customer app.CustomerID, in app.Address, once *pg.Once,
) (app.Address, error) {
	now = app.At(now).Time
	store := caller.StoreID
	once.About(string(customer))
	return pg.CreateOnce(ctx, db.pg, store, once, now, func(ctx context.Context, tx bun.Tx) (app.Address, error) {
		owner, err := LockCustomerFor(ctx, tx, caller, customer)
		if err != nil {
			return app.Address{}, err
		}
		n, err := tx.NewSelect().TableExpr("addresses").Where("store_id = ? AND customer_id = ?", store, customer).
			Count(ctx)
		if err != nil {
			return app.Address{}, err
		}
		if n >= app.MaxAddresses {
			return app.Address{}, app.Errorf(app.CodeLimitReached,
				"a customer can have at most %d addresses; delete one first", app.MaxAddresses)
		}
		row := addressRow{
			ID: app.NewID[app.AddressID](now), StoreID: store, CustomerID: customer, Label: in.Label,
			Address: in.DeliveryAddress, IsDefault: in.IsDefault || n == 0, Version: 1, CreatedAt: now, UpdatedAt: now,
		}
		if row.IsDefault {
			if err := clearDefaultAddress(ctx, tx, now, store, customer); err != nil {
				return app.Address{}, err
			}
		}
		if _, err := tx.NewInsert().Model(&row).Exec(ctx); err != nil {
			return app.Address{}, err
		}
		return row.address(), emitAddressesUpdated(ctx, tx, now, owner)
	})
}

// ChangeAddress applies change to an address and emits customer.updated. It writes nothing if change changes nothing. A
// new default address replaces the previous default. It returns NOT_FOUND, TOKEN_REVOKED if the caller's session has
// ended, VERSION_MISMATCH (version 0 matches every version), VALIDATION_FAILED if no address would be the default, and
// the errors of change.
func (db *DB) ChangeAddress(
	ctx context.Context, now time.Time, caller app.Principal, customer app.CustomerID, id app.AddressID, version int64,
	change func(*app.Address) error,
) (app.Address, error) {
	now = app.At(now).Time
	store := caller.StoreID
	var changed app.Address
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		owner, before, err := lockAddress(ctx, tx, caller, customer, id, version)
		if err != nil {
			return err
		}
		changed = before
		if err := change(&changed); err != nil || changed == before {
			return err
		}
		if before.IsDefault && !changed.IsDefault {
			return app.Invalid("isDefault", "cannot be false for the default address; make another address the default")
		}
		if changed.IsDefault && !before.IsDefault {
			if err := clearDefaultAddress(ctx, tx, now, store, customer); err != nil {
				return err
			}
		}
		changed.Version, changed.UpdatedAt = before.Version+1, app.At(now)
		row := addressRow{
			Label: changed.Label, Address: changed.DeliveryAddress, IsDefault: changed.IsDefault,
			Version: changed.Version, UpdatedAt: now,
		}
		if _, err := tx.NewUpdate().Model(&row).Column("label", "address", "is_default", "version", "updated_at").
			Where("store_id = ? AND customer_id = ? AND id = ?", store, customer, id).Exec(ctx); err != nil {
			return err
		}
		return emitAddressesUpdated(ctx, tx, now, owner)
	})
	return changed, err
}

// DeleteAddress deletes an address and emits customer.updated. If the address was the default, the
// customer's oldest address becomes the default. It returns NOT_FOUND, also if the address is already
// deleted, TOKEN_REVOKED if the caller's session has ended, or VERSION_MISMATCH (version 0 matches every version).
func (db *DB) DeleteAddress(
	ctx context.Context, now time.Time, caller app.Principal, customer app.CustomerID, id app.AddressID, version int64,
) error {
	now = app.At(now).Time
	store := caller.StoreID
	return db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		owner, address, err := lockAddress(ctx, tx, caller, customer, id, version)
		if err != nil {
			return err
		}
		if _, err := tx.NewRaw(`DELETE FROM addresses WHERE store_id = ? AND customer_id = ? AND id = ?`,
			store, customer, id).Exec(ctx); err != nil {
			return err
		}
		if address.IsDefault {
			_, err := tx.NewRaw(`UPDATE addresses SET is_default = true, version = version + 1, updated_at = ?0
				WHERE store_id = ?1 AND customer_id = ?2 AND id = (
					SELECT id FROM addresses WHERE store_id = ?1 AND customer_id = ?2 ORDER BY created_at, id LIMIT 1)`,
				now, store, customer).Exec(ctx)
			if err != nil {
				return err
			}
		}
		return emitAddressesUpdated(ctx, tx, now, owner)
	})
}

// lockAddress locks a customer and returns the customer and one of its addresses.
func lockAddress(
	ctx context.Context, tx bun.Tx, caller app.Principal, customer app.CustomerID, id app.AddressID, version int64,
) (app.Customer, app.Address, error) {
	owner, err := LockCustomerFor(ctx, tx, caller, customer)
	if err != nil {
		return owner, app.Address{}, err
	}
	var row addressRow
	err = tx.NewSelect().Model(&row).Where("a.store_id = ? AND a.customer_id = ? AND a.id = ?", caller.StoreID,
		customer, id).Scan(ctx)
	if err == nil {
		err = pg.CheckVersion(version, row.Version)
	}
	return owner, row.address(), err
}

// clearDefaultAddress makes every address of a locked customer an ordinary one.
func clearDefaultAddress(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, customer app.CustomerID,
) error {
	_, err := tx.NewRaw(`UPDATE addresses SET is_default = false, version = version + 1, updated_at = ?
		WHERE store_id = ? AND customer_id = ? AND is_default`, now, store, customer).Exec(ctx)
	return err
}

// emitAddressesUpdated increments the version of a locked customer and emits customer.updated.
func emitAddressesUpdated(ctx context.Context, tx bun.Tx, now time.Time, owner app.Customer) error {
	_, err := EmitCustomerUpdated(ctx, tx, now, owner, []string{"addresses"})
	return err
}
