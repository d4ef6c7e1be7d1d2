// Package persistence keeps the types of package app in PostgreSQL. Every exported
// method is one transaction. A method for data of a store takes the store as an argument. The
// store is in the WHERE of every statement and in the row-level security of every table
// (contract §2).
package persistence

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Config says how to reach the database.
type Config struct {
	URL      string // of a login role that is a member of both roles, and nothing more
	MaxConns int    // per pool, of which there are two; 0 = 16
	Sealer   app.Sealer
	Mails    bool // a mail server is configured, so that mails are enqueued

	PlanWindow time.Duration // how long a window of a plan is, in whole seconds; 0 = app.DefaultPlanWindow

	// Ended is called with the deliveries that this process has ended: delivered, dead_letter or
	// cancelled. nil is allowed.
	Ended func(status app.DeliveryStatus, n int)
}

// The types of requests and lists that callers use, see package pg.
type (
	Once     = pg.Once
	Replayed = pg.Replayed
	Cursor   = pg.Cursor
)

// DB is the database. The methods of the delivery queue are its own.
type DB struct {
	*delivery.Queue

	pg     *pg.DB
	sealer app.Sealer
}

// Open prepares the pools. It fails on an unusable URL only; the first query connects.
func Open(config Config) (*DB, error) {
	pools, err := pg.Open(pg.Config{URL: config.URL, MaxConns: config.MaxConns})
	if err != nil {
		return nil, err
	}
	queue := delivery.New(pools, delivery.Config{
		Sealer: config.Sealer, Mails: config.Mails, Policy: delivery.DefaultPolicy(),
		PlanWindow: config.PlanWindow, Ended: config.Ended,
	})
	return &DB{Queue: queue, pg: pools, sealer: config.Sealer}, nil
}

// Close closes the queue and the pools.
func (db *DB) Close() error {
	db.Queue.Close()
	return db.pg.Close()
}

// System returns the pool of the role that sees every store. A test lists its callers.
func (db *DB) System() *bun.DB { return db.pg.System() }

// Ping reports whether the database responds, UNAVAILABLE if not.
func (db *DB) Ping(ctx context.Context) error { return db.pg.Ping(ctx) }

// CheckRole returns an error if the login role can bypass row-level security, or cannot take
// on the two roles.
func (db *DB) CheckRole(ctx context.Context) error { return db.pg.CheckRole(ctx) }

// CheckSchema returns pg.ErrOldSchema unless every migration is applied.
func (db *DB) CheckSchema(ctx context.Context) error { return db.pg.CheckSchema(ctx) }
