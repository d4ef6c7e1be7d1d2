package persistence

import (
	"context"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// CountAsApp counts the rows that the role of one store sees in a table without having
// said which store.
func (db *DB) CountAsApp(ctx context.Context, table string) (n int, err error) {
	err = db.pg.App().DB.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&n)
	return n, err
}

// Audit adds a line to the trail in a transaction of its own.
func (db *DB) Audit(ctx context.Context, now time.Time, store app.StoreID, by app.Actor, action app.AuditAction, target string, details map[string]any) error {
	return db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return pg.Audit(ctx, tx, now, store, by, action, target, details)
	})
}

// ExplainAuditTrail returns PostgreSQL's plan for a page of the trail.
func (db *DB) ExplainAuditTrail(ctx context.Context, store app.StoreID, filter AuditFilter, after Cursor) (plan string, err error) {
	err = db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		var lines []string
		err := tx.NewRaw("EXPLAIN "+auditQuery(tx, store, filter, after, 21).String()).Scan(ctx, &lines)
		plan = strings.Join(lines, "\n")
		return err
	})
	return plan, err
}

// ExplainCustomers returns PostgreSQL's plan for a page of customers.
func (db *DB) ExplainCustomers(ctx context.Context, store app.StoreID, own app.CustomerID, filter app.CustomerFilter, after Cursor) (plan string, err error) {
	err = db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		var lines []string
		err := tx.NewRaw("EXPLAIN "+listCustomers(tx, &[]customerRow{}, store, own, filter, after, 21).String()).Scan(ctx, &lines)
		plan = strings.Join(lines, "\n")
		return err
	})
	return plan, err
}
