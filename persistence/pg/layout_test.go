package pg_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// A process opens as many connections as it may, and each pool has at least one.
func TestLayout(t *testing.T) {
	t.Parallel()
	for name, layout := range map[string]func(int) []pg.Pool{"serve": pg.ServePools, "worker": pg.WorkerPools} {
		for conns := pg.MinConns; conns < 100; conns++ {
			sum := 0
			for _, p := range layout(conns) {
				if sum += p.Conns; p.Conns < 1 {
					t.Errorf("%s with %d connections: got %d for %s of %s, want at least 1", name, conns, p.Conns,
						p.Purpose, p.Role)
				}
			}
			if sum != conns {
				t.Errorf("%s with %d connections: got pools of %d connections", name, conns, sum)
			}
		}
	}
}

// Each purpose has its own connections and limits.
func TestLimitsOfPools(t *testing.T) {
	t.Parallel()
	database := persistencetest.New(t)
	config := pg.Config{URL: database.URL, SystemURL: database.SystemURL}
	open := func(pools []pg.Pool) *pg.DB {
		config.Pools = pools
		db, err := pg.Open(config)
		must(t, err)
		t.Cleanup(func() { db.Close() })
		return db
	}
	serve, worker, command := open(pg.ServePools(pg.MinConns)), open(pg.WorkerPools(pg.MinConns)), open(nil)
	for name, c := range map[string]struct {
		pool *bun.DB
		want string
	}{
		"operations of a store":     {serve.App(), "comanda_app 10s 2s"},
		"lookups":                   {serve.For(pg.Lookups).System(), "comanda_system 10s 2s"},
		"operations of all stores":  {serve.System(), "comanda_system 10s 2s"},
		"relay":                     {worker.For(pg.Relay).System(), "comanda_system 5s 500ms"},
		"dispatch":                  {worker.For(pg.Dispatch).System(), "comanda_system 5s 100ms"},
		"attempts":                  {worker.For(pg.Attempts).System(), "comanda_system 10s 250ms"},
		"jobs of a store":           {worker.App(), "comanda_app 1min 0"},
		"jobs":                      {worker.System(), "comanda_system 1min 0"},
		"deadlines of a store":      {worker.For(pg.Deadlines).App(), "comanda_app 5s 1s"},
		"deadlines":                 {worker.For(pg.Deadlines).System(), "comanda_system 5s 1s"},
		"a purpose without a pool":  {serve.For(pg.Relay).System(), "comanda_system 10s 2s"},
		"a command about all":       {command.System(), "comanda_system 0 0"},
		"a command about one store": {command.App(), "comanda_app 0 0"},
	} {
		var got string
		conn, err := c.pool.Conn(t.Context())
		must(t, err)
		must(t, conn.QueryRowContext(t.Context(), `SELECT concat_ws(' ', current_user,
			current_setting('statement_timeout'), current_setting('lock_timeout'))`).Scan(&got))
		if got != c.want {
			t.Errorf("role, statement_timeout and lock_timeout of %s: got %s, want %s", name, got, c.want)
		}
		// Each pool has the login of its role, which cannot become the other role.
		for _, role := range []string{pg.RoleApp, pg.RoleSystem} {
			_, err := conn.ExecContext(t.Context(), "RESET ROLE; SET ROLE "+role)
			if (err == nil) != strings.HasPrefix(c.want, role) {
				t.Errorf("SET ROLE %s in the pool of %s: got error %v, want only its own role", role, name, err)
			}
		}
		conn.Close()
	}
	for _, p := range pg.ServePools(pg.MinConns) {
		if p.Account != 250*time.Millisecond {
			t.Errorf("wait for an account in the pool %s of %s: got %v, want 250ms", p.Purpose, p.Role, p.Account)
		}
	}
	if serve.For(pg.Lookups).System() == serve.System() || worker.For(pg.Relay).System() == worker.System() {
		t.Error("lookups or the relay share a pool with other work, want separate pools")
	}
}

// A statement beyond its limit, a pause in a transaction, a wait for a lock and a wait for a connection end with
// UNAVAILABLE. The pool can then be used again.
func TestLimitsEndStatements(t *testing.T) {
	t.Parallel()
	database := persistencetest.New(t)
	open := func(p pg.Pool) *pg.DB {
		p.Conns = 1
		app, system := p, p
		app.Role, system.Role = pg.RoleApp, pg.RoleSystem
		db, err := pg.Open(pg.Config{URL: database.URL, SystemURL: database.SystemURL, Pools: []pg.Pool{app, system}})
		must(t, err)
		t.Cleanup(func() { db.Close() })
		return db
	}
	run := func(db *pg.DB, statement string) error {
		return db.InSystem(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			_, err := tx.ExecContext(ctx, statement)
			return err
		})
	}
	const lock = "LOCK TABLE products IN SHARE ROW EXCLUSIVE MODE"
	blocker, err := database.System().BeginTx(t.Context(), nil)
	must(t, err)
	defer blocker.Rollback() //nolint:errcheck // without effect after the test
	_, err = blocker.ExecContext(t.Context(), lock)
	must(t, err)
	for name, c := range map[string]struct {
		db        *pg.DB
		statement string
	}{
		// A SELECT takes less than a second, also on a busy server.
		"statement": {open(pg.Pool{Statement: time.Second}), "SELECT pg_sleep(60)"},
		"lock":      {open(pg.Pool{Lock: 10 * time.Millisecond}), lock},
	} {
		err := run(c.db, c.statement)
		failed, ok := errors.AsType[*app.Error](err)
		if !ok || failed.Code != app.CodeUnavailable || failed.RetryAfter != time.Second {
			t.Errorf("%s: got error %v, want UNAVAILABLE for a second", name, err)
		}
		must(t, run(c.db, "SELECT"))
	}

	idle := open(pg.Pool{Statement: time.Second})
	err = idle.InSystem(t.Context(), func(ctx context.Context, tx bun.Tx) error {
		var session, open int
		must(t, tx.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&session))
		for open = 1; open > 0; {
			must(t, database.System().QueryRowContext(ctx, "SELECT count(*) FROM pg_stat_activity WHERE pid = ?", session).
				Scan(&open))
		}
		_, err := tx.ExecContext(ctx, "SELECT")
		return err
	})
	if app.CodeOf(err) != app.CodeUnavailable {
		t.Errorf("transaction that was idle for longer than a statement may take: got error %v, want UNAVAILABLE", err)
	}
	must(t, run(idle, "SELECT"))
	must(t, idle.SnapshotOf(t.Context(), "", func(ctx context.Context, tx bun.Tx) error {
		var limit string
		must(t, tx.QueryRowContext(ctx, "SHOW idle_in_transaction_session_timeout").Scan(&limit))
		if limit != "0" {
			t.Errorf("limit of a pause of an export: got %s, want none", limit)
		}
		return nil
	}))

	const wait = 500 * time.Millisecond
	db := open(pg.Pool{Wait: wait})
	held, err := db.System().Conn(t.Context())
	for err != nil { // a busy machine needs longer to connect
		held, err = db.System().Conn(t.Context())
	}
	refused := db.PoolStats()[1].Refused
	_, err = db.System().DB.ExecContext(t.Context(), "SELECT")
	if err := pg.Classify(err); app.CodeOf(err) != app.CodeUnavailable {
		t.Errorf("statement without a free connection: got error %v, want UNAVAILABLE", err)
	}
	if err := run(db, "SELECT"); app.CodeOf(err) != app.CodeUnavailable {
		t.Errorf("transaction without a free connection: got error %v, want UNAVAILABLE", err)
	}
	stats := db.PoolStats()[1]
	if stats.InUse != 1 || stats.Refused != refused+2 || stats.Waiting != 0 || stats.Waited < 2*wait {
		t.Errorf("statistics of the pool: got %+v, want one connection in use, and two callers refused", stats)
	}
	held.Close()
	must(t, run(db, "SELECT"))
}
