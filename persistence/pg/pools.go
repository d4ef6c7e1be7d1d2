// Package pg contains the PostgreSQL access that no resource owns: pools and roles, transactions,
// error mapping, migrations, notifications, idempotency and writing to the audit trail.
package pg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"
)

// Roles of the pools. They own no tables.
const (
	RoleApp    = "comanda_app"    // sees the rows of the store that the transaction names
	RoleSystem = "comanda_system" // sees the rows of all stores
)

var roles = [...]string{RoleApp, RoleSystem}

// Config is the configuration of [Open].
type Config struct {
	// URL is for a login role that is a member of RoleApp, and of RoleSystem if SystemURL is empty.
	URL string
	// SystemURL is for the login role of connections with RoleSystem; "" = that of URL. With two logins, a statement
	// that is injected into a connection with RoleApp cannot assume RoleSystem.
	SystemURL string

	// Pools are the pools of a server or a worker, with both roles. The first one of a role also serves the purposes
	// that have no pool with that role. Commands have none: they use two pools of MaxConns connections (0 = 16) without
	// limits of time.
	Pools    []Pool
	MaxConns int
}

// DB contains the pools of a database, seen by the work of one purpose.
type DB struct {
	app    *bun.DB
	system *bun.DB
	pools  []*pool
	config Config
	clock  *clock

	notifier *Coalescer[notice]
}

// lostHost are the settings with which PostgreSQL ends a session within about 30 seconds after the host of its client
// is lost. With the defaults of Linux, the locks of an open transaction would remain for up to two hours: those of the
// store's orders and of the request's Idempotency-Key.
var lostHost = map[string]string{
	"tcp_keepalives_idle":     "15", // seconds
	"tcp_keepalives_interval": "5",  // seconds
	"tcp_keepalives_count":    "3",
	"tcp_user_timeout":        "30000", // milliseconds, for sent data that is not acknowledged
}

// planning are the settings of the planner for all pools:
//
//   - The frequent statements find rows by index, for all arguments. Planning them for each execution costs as much as
//     running them.
//   - Statistics lag behind a growing table. Until they are updated, the planner would prefer to read the whole table.
//   - A plan that must read a whole table has such a high cost that PostgreSQL would compile it at each execution,
//     which takes longer than running it.
const planning = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off"

// as sets the role and the settings of connections. The role is a startup parameter too: a pooler refuses it
// unless its administrator permits it (docs/production.md#pgbouncer). If the pooler then ignores it, the statement
// applies.
func as(role string, c *pgx.ConnConfig, settings string) {
	c.RuntimeParams["role"] = role
	c.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		_, err := conn.Exec(ctx, "SET ROLE "+role+"; "+settings).ReadAll()
		return err
	}
}

// Open prepares the pools. It does not connect; it returns an error only if a URL is invalid.
func Open(config Config) (*DB, error) {
	if config.Pools == nil {
		conns := cmp.Or(config.MaxConns, 16)
		config.Pools = []Pool{{Role: RoleApp, Conns: conns}, {Role: RoleSystem, Conns: conns}}
	}
	db := &DB{config: config, clock: &clock{}}
	for _, limits := range config.Pools {
		pool, err := openPool(config.url(limits.Role), limits)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", config.variable(limits.Role), err), db.closePools())
		}
		db.pools = append(db.pools, pool)
	}
	db.app, db.system = db.first(RoleApp).db, db.first(RoleSystem).db
	db.notifier = newNotifier(db.app)
	return db, nil
}

// url returns the URL for connections with a role.
func (c Config) url(role string) string {
	if role == RoleSystem {
		return cmp.Or(c.SystemURL, c.URL)
	}
	return c.URL
}

// variable returns the name of the environment variable with the URL for connections with a role.
func (c Config) variable(role string) string {
	if role == RoleSystem && c.SystemURL != "" {
		return "COMANDA_SYSTEM_DATABASE_URL"
	}
	return "DATABASE_URL"
}

func (db *DB) first(role string) *pool {
	return db.pools[slices.IndexFunc(db.pools, func(p *pool) bool { return p.limits.Role == role })]
}

// For returns the database with the pools of a purpose. The result must not be closed.
func (db *DB) For(purpose Purpose) *DB {
	view := *db
	for _, p := range db.pools {
		switch {
		case p.limits.Purpose != purpose:
		case p.limits.Role == RoleApp:
			view.app = p.db
		default:
			view.system = p.db
		}
	}
	return &view
}

// Close sends the notifications of committed transactions and closes the pools.
func (db *DB) Close() error {
	db.notifier.Close()
	return db.closePools()
}

func (db *DB) closePools() error {
	var faults []error
	for _, p := range db.pools {
		faults = append(faults, p.close())
	}
	return errors.Join(faults...)
}

// App returns the pool of [RoleApp]. Outside [DB.InStore] it sees no row of any store.
func (db *DB) App() *bun.DB { return db.app }

// System returns the pool of [RoleSystem], which sees every store. A test lists its callers.
func (db *DB) System() *bun.DB { return db.system }

// Ping returns an error if the database does not respond, or does not accept a login.
func (db *DB) Ping(ctx context.Context) error {
	// A process that serves has the one pool, a worker the other: both are small and their statements short.
	if _, err := db.For(Lookups).For(Deadlines).system.ExecContext(ctx, "SELECT 1"); err != nil {
		return fmt.Errorf("%s: %w", db.config.variable(RoleSystem), Classify(err))
	}
	short := slices.IndexFunc(db.pools, func(p *pool) bool {
		return p.limits.Role == RoleApp && p.limits.Purpose != Jobs
	})
	if err := db.pools[short].ping(ctx); err != nil {
		return fmt.Errorf("%s: %w", db.config.variable(RoleApp), err)
	}
	return nil
}
