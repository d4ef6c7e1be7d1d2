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

// OrderJob orders a job in a transaction of its own.
func (db *DB) OrderJob(ctx context.Context, now time.Time, store app.StoreID, kind app.JobKind, subject string) error {
	return db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error { return orderJob(ctx, tx, now, store, kind, subject) })
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

// OrderMail orders mails about a webhook in a transaction of its own.
func (db *DB) OrderMail(ctx context.Context, now time.Time, store app.StoreID, kind app.MailKind, subject app.SubscriptionID, details app.WebhookTrouble) error {
	return db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return db.orderMail(ctx, tx, now, store, kind, subject, details)
	})
}

// ErasingStatements are what an erasure runs, with arguments.
func ErasingStatements(before time.Time) map[string][]any {
	statements := map[string][]any{
		selectAgedEvents: {before, time.Time{}, ""},
		eraseBodiesOf:    {[]string{"evt_1", "evt_2"}, before},
	}
	for _, statement := range []string{eraseDeliveries, eraseEvents, eraseReplays, eraseSessions, eraseCustomerSessions, eraseInvitations, eraseMails, eraseIdempotencyKeys} {
		statements[statement] = []any{"", before}
	}
	return statements
}

// Statements whose plans are looked at.
const (
	AttemptStats   = attemptStats
	RetryingNow    = retryingNow
	OpenDeliveries = openDeliveries
	CancelQueued   = cancelQueued
	LastAttempt    = "SELECT max(a.attempted_at) FROM attempts a WHERE a.subscription_id = ?" // as in subscriptionColumns
	CountAttempts  = "SELECT count(*) FROM attempts a WHERE a.store_id = ? AND a.subscription_id = ?"
)

// ExplainInStore returns the plan of a statement of one store. Bitmaps are left out: which of them
// is cheaper depends on when the table was cleaned up last.
func (db *DB) ExplainInStore(ctx context.Context, store app.StoreID, statement string, args ...any) (string, error) {
	var lines []string
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.ExecContext(ctx, "SET LOCAL enable_bitmapscan = off"); err != nil {
			return err
		}
		return tx.NewRaw("EXPLAIN "+statement, args...).Scan(ctx, &lines)
	})
	return strings.Join(lines, "\n"), err
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

// ExplainDeliveries returns PostgreSQL's plan for a page of deliveries.
func (db *DB) ExplainDeliveries(ctx context.Context, store app.StoreID, filter app.DeliveryFilter, limit int) (plan string, err error) {
	err = db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		var lines []string
		err := tx.NewRaw("EXPLAIN "+listDeliveries(tx, &[]deliveryRow{}, store, filter, "", limit).String()).Scan(ctx, &lines)
		plan = strings.Join(lines, "\n")
		return err
	})
	return plan, err
}

// FlushReads makes visible to others how many rows each pool has read.
func (db *DB) FlushReads(ctx context.Context) error {
	for _, pool := range []*bun.DB{db.pg.App(), db.pg.System()} {
		if _, err := pool.ExecContext(ctx, "SELECT pg_stat_force_next_flush()"); err != nil {
			return err
		}
	}
	return nil
}
