package persistence

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// customerRow is what of a customer others may see, as the table holds it.
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
	Version       int64
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

func (r customerRow) customer() app.Customer {
	return app.Customer{
		ID: r.ID, Email: r.Email, FirstName: r.FirstName, LastName: r.LastName, Phone: r.Phone, LoyaltyPoints: r.LoyaltyPoints, TotalOrders: r.TotalOrders,
		StoreID: r.StoreID, Kind: r.Kind, Version: r.Version, CreatedAt: app.At(r.CreatedAt), UpdatedAt: app.At(r.UpdatedAt),
	}
}

// Customer returns a customer of a store, NOT_FOUND if it has none of that id.
func (db *DB) Customer(ctx context.Context, store app.StoreID, id app.CustomerID) (app.Customer, error) {
	var row customerRow
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return tx.NewSelect().Model(&row).Where("c.store_id = ? AND c.id = ?", store, id).Scan(ctx)
	})
	return row.customer(), err
}

// Customers lists a store's customers, the newest first, at most limit of them, from after
// the one named (its zero value = from the start). A customer, if not "", sees nobody else.
func (db *DB) Customers(ctx context.Context, store app.StoreID, own app.CustomerID, filter app.CustomerFilter, after Cursor, limit int) ([]app.Customer, error) {
	var rows []customerRow
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		rows = nil
		return listCustomers(tx, &rows, store, own, filter, after, limit).Scan(ctx)
	})
	customers := make([]app.Customer, len(rows))
	for i, row := range rows {
		customers[i] = row.customer()
	}
	return customers, err
}

// listCustomers is the query of a list. A search reads each of its columns by an index.
func listCustomers(tx bun.Tx, rows *[]customerRow, store app.StoreID, own app.CustomerID, filter app.CustomerFilter, after Cursor, limit int) *bun.SelectQuery {
	q := tx.NewSelect().Model(rows).Where("c.store_id = ?", store).OrderExpr("c.created_at DESC, c.id DESC").Limit(int64(limit))
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
	if filter.Query != "" {
		q.WhereGroup(" AND ", func(q *bun.SelectQuery) *bun.SelectQuery { return searchPeople(q, filter.Query) })
	}
	return q
}

// ChangeCustomer changes a customer's profile as change does and tells of it:
// customer.updated. Nothing changed changes nothing. It returns NOT_FOUND, VERSION_MISMATCH
// (version 0 is any), CONFLICT when two guests of one phone number would come of it, and
// what change returns.
func (db *DB) ChangeCustomer(ctx context.Context, now time.Time, store app.StoreID, id app.CustomerID, version int64, change func(*app.Customer) error) (app.Customer, error) {
	now = app.At(now).Time
	var changed app.Customer
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		before, err := lockCustomer(ctx, tx, store, id)
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
		if len(fields) == 0 {
			return nil
		}
		_, err = tx.NewRaw("UPDATE customers SET first_name = ?, last_name = ?, phone = ? WHERE store_id = ? AND id = ?",
			changed.FirstName, changed.LastName, changed.Phone, store, id).Exec(ctx)
		if pg.IsDuplicate(err) {
			return app.Errorf(app.CodeConflict, "there is another guest of this phone number")
		}
		if err != nil {
			return err
		}
		changed, err = tellOfCustomer(ctx, tx, now, changed, fields)
		return err
	})
	return changed, err
}

// lockCustomer keeps a customer's profile and addresses from being changed by others,
// NOT_FOUND if the store has none of that id.
func lockCustomer(ctx context.Context, tx bun.Tx, store app.StoreID, id app.CustomerID) (app.Customer, error) {
	var row customerRow
	err := tx.NewSelect().Model(&row).Where("c.store_id = ? AND c.id = ?", store, id).For("NO KEY UPDATE").Scan(ctx)
	return row.customer(), err
}

// tellOfCustomer gives a locked customer its next version and tells what has changed.
func tellOfCustomer(ctx context.Context, tx bun.Tx, now time.Time, c app.Customer, fields []string) (app.Customer, error) {
	c.Version, c.UpdatedAt = c.Version+1, app.At(now)
	_, err := tx.NewRaw("UPDATE customers SET version = ?, updated_at = ? WHERE store_id = ? AND id = ?", c.Version, now, c.StoreID, c.ID).Exec(ctx)
	if err != nil {
		return c, err
	}
	return c, delivery.Emit(ctx, tx, now, c.StoreID, app.EventCustomerUpdated, app.CustomerUpdated{Customer: c, UpdatedFields: fields})
}
