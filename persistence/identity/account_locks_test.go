package identity_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Transactions of requests that may name no website do not wait for the row of an account as long as others may wait
// for a lock. They change nothing, and succeed when the row is free.
func TestAccountLocks(t *testing.T) {
	t.Parallel()
	database := persistencetest.New(t)
	pools := pg.ServePools(pg.MinConns)
	for i := range pools {
		pools[i].Lock, pools[i].Account = 0, 10*time.Millisecond
	}
	db, err := persistence.Open(persistence.Config{
		URL: database.URL, SystemURL: database.SystemURL, Pools: pools, Sealer: persistencetest.Keyring().Sealer(),
		Mails: true,
	})
	must(t, err)
	defer db.Close()

	r := open(t, database, "one.example")
	calls := []struct {
		name string
		call func(ctx context.Context) error
	}{
		{"SetPasswordHash", func(ctx context.Context) error { return db.SetPasswordHash(ctx, r.Owner.ID, "-", "-") }},
		{"StartSession", func(ctx context.Context) error {
			_, err := db.StartSession(ctx, noon, app.Actor{}, r.Owner, identity.Proof{Verified: "-"}, "", time.Hour)
			return err
		}},
		{"MailReset", func(ctx context.Context) error {
			return db.MailReset(ctx, noon, r.Owner.ID, app.NewSecret("another link"))
		}},
	}
	tx, err := database.System().DB.BeginTx(t.Context(), nil)
	must(t, err)
	defer tx.Rollback() //nolint:errcheck // without effect after the test
	_, err = tx.ExecContext(t.Context(), "SELECT FROM users FOR UPDATE")
	must(t, err)
	for _, c := range calls {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // ends the test if one waits for the other
		err := c.call(ctx)
		if ctx.Err() != nil {
			t.Errorf("%s: waits for a locked account, want the error of a wait for a lock", c.name)
		} else if app.CodeOf(err) != app.CodeUnavailable {
			t.Errorf("%s: got error %v, want UNAVAILABLE", c.name, err)
		}
		cancel()
	}
	must(t, tx.Rollback())
	for _, c := range calls {
		must(t, c.call(t.Context()))
	}
}

// The first test key of a store locks the memberships of that store only. It does not wait for a change of those of
// another website, and delays none. A member of the store who is removed at the same time is not in the sandbox either.
func TestSandboxOfAHostileNeighbour(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	own, other := open(t, db, "one.example"), open(t, db, "two.example")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	begin := func(statement string, args ...any) *sql.Tx {
		t.Helper()
		tx, err := db.System().DB.BeginTx(ctx, nil)
		must(t, err)
		_, err = tx.ExecContext(ctx, statement, args...)
		must(t, err)
		return tx
	}
	const remove = "DELETE FROM memberships WHERE store_id = $1"
	keys := begin("LOCK TABLE api_keys IN SHARE MODE")
	done := make(chan error, 2)
	go func() {
		_, err := db.IssueAPIKey(ctx, noon, own.Stores[0],
			app.NewAPIKey{Name: "Till", Scopes: []app.Scope{app.ScopeReadOrders}, Mode: app.KeyTest})
		done <- err
	}()
	waiting := func(want int) {
		for n := 0; n < want; {
			must(t, db.System().DB.QueryRowContext(ctx, `SELECT count(*) FROM pg_locks WHERE NOT granted AND pid IN
				(SELECT pid FROM pg_stat_activity WHERE datname = current_database())`).Scan(&n))
		}
	}
	waiting(1)
	neighbour := begin(remove, other.Stores[0]) // does not wait for the key
	go func() {
		_, err := db.System().DB.ExecContext(ctx, remove, own.Stores[0])
		done <- err
	}()
	waiting(2)
	must(t, keys.Rollback())
	must(t, <-done) // does not wait for the neighbour
	must(t, <-done)
	must(t, neighbour.Rollback())
	if n := count(t, db, "SELECT count(*) FROM memberships m JOIN stores s ON s.id = m.store_id "+
		"WHERE s.sandbox_of IS NOT NULL"); n != 0 {
		t.Errorf("members of the sandbox: got %d, want 0", n)
	}
}

// The deletion of a view locks the users of its sessions first, as all changes of sessions do.
func TestDeletedViewLocksUsersBeforeSessions(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	session := r.Caller(t, db.DB, 0).SessionID
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	system := db.System().DB
	for _, statement := range []string{
		`INSERT INTO store_views (id, store_id, code, locale, currency, is_default)
			VALUES ('view_old', $1, 'old', 'en-US', 'EUR', false)`,
		`UPDATE sessions SET active_view_id = 'view_old' WHERE active_store_id = $1`,
	} {
		_, err := system.ExecContext(ctx, statement, r.Stores[0])
		must(t, err)
	}
	reset, err := system.BeginTx(ctx, nil)
	must(t, err)
	_, err = reset.ExecContext(ctx, `SELECT FROM users WHERE id = $1 FOR UPDATE`, r.Owner.ID)
	must(t, err)
	done := make(chan error, 1)
	go func() { done <- db.DeleteView(ctx, noon, r.Stores[0], app.Actor{}, "view_old") }()
	for n := 0; n == 0; {
		must(t, system.QueryRowContext(ctx, `SELECT count(*) FROM pg_locks WHERE NOT granted AND pid IN
			(SELECT pid FROM pg_stat_activity WHERE datname = current_database())`).Scan(&n))
	}
	_, err = reset.ExecContext(ctx, `SELECT FROM sessions WHERE id = $1 FOR UPDATE NOWAIT`, session)
	must(t, err)
	_, err = reset.ExecContext(ctx, `SELECT FROM stores WHERE id = $1 FOR UPDATE NOWAIT`, r.Stores[0])
	must(t, err)
	must(t, reset.Commit())
	must(t, <-done)
}
