package identity

import (
	"context"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Audit adds an entry to the audit trail in a separate transaction.
func (db *DB) Audit(
	ctx context.Context, now time.Time, store app.StoreID, by app.Actor, action app.AuditAction, target string,
	details map[string]any,
) error {
	return db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return pg.Audit(ctx, tx, now, store, by, action, target, details)
	})
}

// QueryApp runs a statement with one number in the pool of the role of one store.
func (db *DB) QueryApp(ctx context.Context, statement string) (n int64, err error) {
	err = db.pg.App().DB.QueryRowContext(ctx, statement).Scan(&n)
	return n, err
}

// explain returns the plan of a query in one store.
func (db *DB) explain(
	ctx context.Context, store app.StoreID, query func(tx bun.Tx) (string, error),
) (plan string, err error) {
	err = db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		statement, err := query(tx)
		if err != nil {
			return err
		}
		var lines []string
		err = tx.NewRaw("EXPLAIN "+statement).Scan(ctx, &lines)
		plan = strings.Join(lines, "\n")
		return err
	})
	return plan, err
}

// ExplainAuditTrail returns the plan of a page of the audit trail.
func (db *DB) ExplainAuditTrail(
	ctx context.Context, store app.StoreID, filter AuditFilter, after pg.Cursor,
) (string, error) {
	return db.explain(ctx, store, func(tx bun.Tx) (string, error) {
		return auditQuery(tx, store, filter, after, 21).String(), nil
	})
}

// ExplainCustomers returns the plan of a page of customers.
func (db *DB) ExplainCustomers(
	ctx context.Context, store app.StoreID, own app.CustomerID, filter app.CustomerFilter, after pg.Cursor,
) (string, error) {
	return db.explain(ctx, store, func(tx bun.Tx) (string, error) {
		return listCustomers(tx, store, own, filter, after, 21).String(), nil
	})
}

// EndSessionsOf ends all sessions of a store's customer with the role that sees every store, and returns their number.
func (db *DB) EndSessionsOf(ctx context.Context, now time.Time, store app.StoreID, customer app.CustomerID) (n int64,
	err error) {
	err = db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		n, err = customerSessions(store).end(ctx, tx, now, string(customer), "", app.EndedByAdmin)
		return err
	})
	return n, err
}
