// Package persistence stores the types of package app in PostgreSQL. Its methods are those of three packages: identity
// (accounts), ordering (the restaurant's data) and delivery (the queue of webhooks). Every exported method is one
// transaction. A method for the data of a store takes the store as an argument. Two fences separate stores: every
// statement compares the store in its WHERE clause, and every table of a store has row-level security
// (docs/behaviour.md#isolation).
package persistence

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/ordering"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Config is the configuration of [Open].
type Config struct {
	URL       string    // see pg.Config
	SystemURL string    // see pg.Config
	Pools     []pg.Pool // see pg.Config
	MaxConns  int       // see pg.Config
	Sealer    app.Sealer
	Mails     bool // enqueue mails: a mail server is configured

	PlanWindow time.Duration    // length of a plan's window in whole seconds; 0 = app.DefaultPlanWindow
	Policy     *delivery.Policy // nil = delivery.DefaultPolicy()

	// Ended is called after this process has ended n deliveries with the same status: delivered,
	// dead_letter or cancelled. It may be nil.
	Ended func(status app.DeliveryStatus, n int)
}

// Types of package pg that callers of this package use.
type (
	Once   = pg.Once
	Cursor = pg.Cursor
)

// DB is the database.
type DB struct {
	*identityDB
	*orderingDB
	*delivery.Queue

	pg     *pg.DB
	sealer app.Sealer
}

// The embedded types need different names.
type (
	identityDB = identity.DB
	orderingDB = ordering.DB
)

// Open prepares the connection pools. It does not connect; it returns an error only if a URL is
// invalid.
func Open(config Config) (*DB, error) {
	pools, err := pg.Open(pg.Config{
		URL: config.URL, SystemURL: config.SystemURL, Pools: config.Pools, MaxConns: config.MaxConns,
	})
	if err != nil {
		return nil, err
	}
	policy := config.Policy
	if policy == nil {
		policy = new(delivery.DefaultPolicy())
	}
	queue := delivery.New(pools, delivery.Config{
		Sealer: config.Sealer, Mails: config.Mails, Policy: *policy,
		PlanWindow: config.PlanWindow, Ended: config.Ended,
	})
	return &DB{
		identityDB: identity.New(pools, queue, config.Sealer), orderingDB: ordering.New(pools, queue), Queue: queue,
		pg: pools, sealer: config.Sealer,
	}, nil
}

// Close closes the delivery queue and the connection pools.
func (db *DB) Close() error {
	db.Queue.Close()
	return db.pg.Close()
}

// System returns the pool of the role that sees every store. A test lists its callers.
func (db *DB) System() *bun.DB { return db.pg.System() }

// Conns returns the numbers of connections: those for operations within a store, those for operations that cross
// stores, and those for lookups.
func (db *DB) Conns() (stores, across, lookups int) {
	for _, pool := range db.PoolStats() {
		switch {
		case pool.Purpose == pg.Lookups:
			lookups = pool.Conns
		case pool.Role == pg.RoleApp:
			stores = pool.Conns
		default:
			across = pool.Conns
		}
	}
	return stores, across, lookups
}

// PoolStats returns the use of the connection pools.
func (db *DB) PoolStats() []pg.PoolStats { return db.pg.PoolStats() }

// Ping returns an error if the database does not respond, or does not accept a login.
func (db *DB) Ping(ctx context.Context) error { return db.pg.Ping(ctx) }

// Now returns the time by the clock of the database as of the last [DB.ReadClock]; before, that of the process. The
// difference of two such times is no duration: the clock of the database may be set.
func (db *DB) Now() time.Time { return db.pg.Now() }

// ReadClock reads the clock of the database once.
func (db *DB) ReadClock(ctx context.Context) error { return db.pg.ReadClock(ctx) }

// FollowClock reads the clock of the database every second until ctx is done.
func (db *DB) FollowClock(ctx context.Context) { db.pg.FollowClock(ctx) }

// CheckRole returns an error if a login role can bypass row-level security, cannot become its role, or can become
// another role.
func (db *DB) CheckRole(ctx context.Context) error { return db.pg.CheckRole(ctx) }

// CheckSessions returns an error if a connection pooler shares a session between connections.
func (db *DB) CheckSessions(ctx context.Context) error { return db.pg.CheckSessions(ctx) }

// CheckSchema returns pg.ErrOldSchema unless every migration is applied.
func (db *DB) CheckSchema(ctx context.Context) error { return db.pg.CheckSchema(ctx) }
