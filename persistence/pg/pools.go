// Package pg contains the PostgreSQL access that no resource owns: pools and roles, transactions,
// error mapping, migrations, notifications, idempotency and writing to the audit trail.
package pg

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// Roles of the two pools. They own no tables.
const (
	RoleApp    = "comanda_app"    // sees the rows of the store that the transaction names
	RoleSystem = "comanda_system" // sees the rows of all stores
)

// Config is the configuration of [Open].
type Config struct {
	URL      string // for a login role that is a member of RoleApp and RoleSystem only
	MaxConns int    // for each of the two pools; 0 = 16
}

// DB contains the two pools of a database.
type DB struct {
	app    *bun.DB
	system *bun.DB
	url    string

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

// planning are the settings of the planner for both pools:
//
//   - The frequent statements find rows by index, for all arguments. Planning them for each execution costs as much as
//     running them.
//   - Statistics lag behind a growing table. Until they are updated, the planner would prefer to read the whole table.
//   - A plan that must read a whole table has such a high cost that PostgreSQL would compile it at each execution,
//     which takes longer than running it.
const planning = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off"

// maxIdle is the time after which an unused connection is closed, so that a peak of one process does not keep the
// sessions of PostgreSQL, or those of a pooler, from others.
const maxIdle = time.Minute

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

// Open prepares the pools. It does not connect; it returns an error only if the URL is invalid.
func Open(config Config) (*DB, error) {
	if config.MaxConns == 0 {
		config.MaxConns = 16
	}
	db := &DB{url: config.URL}
	for role, pool := range map[string]**bun.DB{RoleApp: &db.app, RoleSystem: &db.system} {
		c, err := pgx.ParseConfig(config.URL)
		if err != nil {
			return nil, err
		}
		c.RuntimeParams["application_name"] = role
		c.RuntimeParams["timezone"] = "UTC"
		maps.Copy(c.RuntimeParams, lostHost)
		as(role, c, planning)
		sqldb := sql.OpenDB(connector{stdlib.GetConnector(*c)})
		sqldb.SetMaxOpenConns(config.MaxConns)
		sqldb.SetMaxIdleConns(config.MaxConns)
		sqldb.SetConnMaxIdleTime(maxIdle)
		*pool = bun.NewDB(sqldb, dialect{pgdialect.New()})
	}
	db.notifier = newNotifier(db.app)
	return db, nil
}

// Close sends the notifications of committed transactions and closes the pools.
func (db *DB) Close() error {
	db.notifier.Close()
	return errors.Join(db.app.Close(), db.system.Close())
}

// App returns the pool of [RoleApp]. Outside [DB.InStore] it sees no row of any store.
func (db *DB) App() *bun.DB { return db.app }

// System returns the pool of [RoleSystem], which sees every store. A test lists its callers.
func (db *DB) System() *bun.DB { return db.system }

// Ping returns UNAVAILABLE if the database does not respond.
func (db *DB) Ping(ctx context.Context) error {
	_, err := db.app.ExecContext(ctx, "SELECT 1")
	return Classify(err)
}
