// Package persistence keeps the types of package app in PostgreSQL. Every exported
// method is one transaction. What belongs to a store is reached with that store as an
// argument, which stands in the WHERE of every statement and, once more, in the
// row-level security of every table (contract §2).
package persistence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
)

// The two roles that a pool takes on. Neither owns anything.
const (
	roleApp    = "comanda_app"
	roleSystem = "comanda_system"
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

// DB is the database.
type DB struct {
	app    *bun.DB
	system *bun.DB
	url    string
	sealer app.Sealer
	mails  bool

	planWindow time.Duration

	ended func(status app.DeliveryStatus, n int)

	loader   *grouper[attemptKey, *app.Outgoing]
	recorder *grouper[app.MadeAttempt, bool]
}

// Open prepares the pools. It fails on an unusable URL only; the first query connects.
func Open(config Config) (*DB, error) {
	if config.MaxConns == 0 {
		config.MaxConns = 16
	}
	if config.PlanWindow == 0 {
		config.PlanWindow = app.DefaultPlanWindow
	}
	db := &DB{url: config.URL, sealer: config.Sealer, mails: config.Mails, planWindow: config.PlanWindow}
	if db.ended = config.Ended; db.ended == nil {
		db.ended = func(app.DeliveryStatus, int) {}
	}
	for role, pool := range map[string]**bun.DB{roleApp: &db.app, roleSystem: &db.system} {
		c, err := pgx.ParseConfig(config.URL)
		if err != nil {
			return nil, err
		}
		c.RuntimeParams["role"] = role
		c.RuntimeParams["application_name"] = role
		c.RuntimeParams["timezone"] = "UTC"
		// The few statements that run all the time look rows up by index whatever their
		// arguments are; planning them anew costs as much as running them.
		c.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
		// Nor do they wait for PostgreSQL to notice how large a table has become: until then it
		// would read all of it.
		c.RuntimeParams["enable_seqscan"] = "off"
		sqldb := sql.OpenDB(connector{stdlib.GetConnector(*c)})
		sqldb.SetMaxOpenConns(config.MaxConns)
		sqldb.SetMaxIdleConns(config.MaxConns)
		*pool = bun.NewDB(sqldb, pgdialect.New())
	}
	db.loader = newGrouper(maxGroup, loadPause, db.outgoing)
	db.recorder = newGrouper(maxGroup, recordPause, db.recordAttempts)
	return db, nil
}

// Close closes the pools.
func (db *DB) Close() error {
	db.loader.close()
	db.recorder.close()
	return errors.Join(db.app.Close(), db.system.Close())
}

// System is the one door to the role that sees every store. Who goes through it is
// listed in a test.
func (db *DB) System() *bun.DB { return db.system }

// Ping reports whether the database answers, UNAVAILABLE if not.
func (db *DB) Ping(ctx context.Context) error {
	_, err := db.app.ExecContext(ctx, "SELECT 1")
	return classify(err)
}

// CheckRole returns why the login role must not be used: it could step over the fences
// between stores, or cannot take on the two roles.
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
		return classify(err)
	case privileged:
		return fmt.Errorf("the database role %q is a superuser or may bypass row-level security", login)
	case owner:
		return fmt.Errorf("the database role %q owns tables of Comanda, or is a member of the role that does", login)
	}
	return nil
}

// inStore runs f in a transaction that sees the rows of one store.
func (db *DB) inStore(ctx context.Context, store app.StoreID, f func(ctx context.Context, tx bun.Tx) error) error {
	return runTx(ctx, db.app, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.Tx.ExecContext(ctx, "SELECT set_config('comanda.store_id', $1, true)", store); err != nil {
			return err
		}
		return f(ctx, tx)
	})
}

// maxTries is how often a transaction is run when PostgreSQL asks to try again.
const maxTries = 8

// runTx runs f in a transaction, again when it lost a race (serialization failure,
// deadlock) or its connection's plans are outdated. f must have no effect but on the database.
func runTx(ctx context.Context, pool *bun.DB, f func(ctx context.Context, tx bun.Tx) error) error {
	var err error
	for range maxTries {
		err = pool.RunInTx(ctx, &sql.TxOptions{}, f)
		if !runsAgain(err) || ctx.Err() != nil {
			break
		}
	}
	return classify(err)
}
