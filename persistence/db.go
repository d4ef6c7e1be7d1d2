// Package persistence keeps the types of package app in PostgreSQL. Every exported
// method is one transaction. Whatever belongs to a store is reached with that store as an
// argument, which is in the WHERE of every statement and, once more, in the
// row-level security of every table (contract §2).
package persistence

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Config says how to reach the database.
type Config struct {
	URL      string // of a login role that is a member of both roles, and nothing more
	MaxConns int    // per pool, of which there are two; 0 = 16
	Sealer   app.Sealer
	Mails    bool // a mail server is configured, so that mails can be ordered

	PlanWindow time.Duration // how long a window of a plan is, in whole seconds; 0 = app.DefaultPlanWindow

	// Ended is told of deliveries that this process has ended: delivered, dead_letter or
	// cancelled. nil tells nobody.
	Ended func(status app.DeliveryStatus, n int)
}

// The types of requests and lists that callers use, see package pg.
type (
	Once     = pg.Once
	Replayed = pg.Replayed
	Cursor   = pg.Cursor
)

// DB is the database.
type DB struct {
	pg     *pg.DB
	sealer app.Sealer
	mails  bool

	planWindow time.Duration

	ended func(status app.DeliveryStatus, n int)

	loader   *grouper[attemptKey, *app.Outgoing]
	recorder *grouper[app.MadeAttempt, bool]
}

// Open prepares the pools. It fails on an unusable URL only; the first query connects.
func Open(config Config) (*DB, error) {
	if config.PlanWindow == 0 {
		config.PlanWindow = app.DefaultPlanWindow
	}
	pools, err := pg.Open(pg.Config{URL: config.URL, MaxConns: config.MaxConns})
	if err != nil {
		return nil, err
	}
	db := &DB{pg: pools, sealer: config.Sealer, mails: config.Mails, planWindow: config.PlanWindow}
	if db.ended = config.Ended; db.ended == nil {
		db.ended = func(app.DeliveryStatus, int) {}
	}
	db.loader = newGrouper(maxGroup, loadPause, db.outgoing)
	db.recorder = newGrouper(maxGroup, recordPause, db.recordAttempts)
	return db, nil
}

// Close closes the pools.
func (db *DB) Close() error {
	db.loader.close()
	db.recorder.close()
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
