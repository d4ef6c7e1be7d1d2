// Package pg holds the parts of PostgreSQL access that no resource owns: pools and roles,
// transactions, error mapping, migrations, idempotency and the audit trail's entries.
package pg

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// The roles of the two pools. Neither owns anything.
const (
	RoleApp    = "comanda_app"    // sees the rows of the store that the transaction names
	RoleSystem = "comanda_system" // sees the rows of all stores
)

// Config says how to reach the database.
type Config struct {
	URL      string // of a login role that is a member of both roles, and nothing more
	MaxConns int    // per pool, of which there are two; 0 = 16
}

// DB is the two pools of a database.
type DB struct {
	app    *bun.DB
	system *bun.DB
	url    string
}

// Open prepares the pools. It fails on an unusable URL only; the first query connects.
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
		c.RuntimeParams["role"] = role
		c.RuntimeParams["application_name"] = role
		c.RuntimeParams["timezone"] = "UTC"
		// The frequent statements find rows by index, whatever their arguments are. Planning
		// them for each execution costs as much as running them.
		c.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
		// Statistics lag behind a growing table. Until they are updated, the planner would
		// prefer to read the whole table.
		c.RuntimeParams["enable_seqscan"] = "off"
		// A plan that has to read a table nevertheless counts as so expensive that PostgreSQL would
		// compile it, for longer than it runs, with each execution.
		c.RuntimeParams["jit"] = "off"
		sqldb := sql.OpenDB(connector{stdlib.GetConnector(*c)})
		sqldb.SetMaxOpenConns(config.MaxConns)
		sqldb.SetMaxIdleConns(config.MaxConns)
		*pool = bun.NewDB(sqldb, pgdialect.New())
	}
	return db, nil
}

// Close closes the pools.
func (db *DB) Close() error { return errors.Join(db.app.Close(), db.system.Close()) }

// App returns the pool of [RoleApp]. Outside of [DB.InStore] it sees no row of any store.
func (db *DB) App() *bun.DB { return db.app }

// System returns the pool of [RoleSystem], which sees every store. A test lists its callers.
func (db *DB) System() *bun.DB { return db.system }

// Ping reports whether the database responds, UNAVAILABLE if not.
func (db *DB) Ping(ctx context.Context) error {
	_, err := db.app.ExecContext(ctx, "SELECT 1")
	return Classify(err)
}

// CheckRole returns an error if the login role can bypass row-level security, or cannot take
// on the two roles.
func (db *DB) CheckRole(ctx context.Context) error {
	var login string
	var privileged, owner bool
	err := db.app.QueryRowContext(ctx, `
		SELECT session_user, r.rolsuper OR r.rolbypassrls,
			EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace
				AND pg_has_role(session_user, c.relowner, 'MEMBER'))
		FROM pg_roles r WHERE r.rolname = session_user`).Scan(&login, &privileged, &owner)
	switch {
	case err != nil:
		return Classify(err)
	case privileged:
		return fmt.Errorf("the database role %q is a superuser or may bypass row-level security", login)
	case owner:
		return fmt.Errorf("the database role %q owns tables of Comanda, or is a member of the role that does", login)
	}
	return nil
}
