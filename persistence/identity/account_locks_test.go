package identity_test

import (
	"context"
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
		{"StartVerifiedSession", func(ctx context.Context) error {
			_, err := db.StartVerifiedSession(ctx, noon, app.Actor{}, r.Owner, identity.Proof{Verified: "-"}, "",
				time.Hour)
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
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
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

// The first test key of a store locks the memberships of all websites. If one of them is being changed, the key is
// refused soon: the changes of other websites would wait as long as it does.
func TestSandboxOfAHostileNeighbour(t *testing.T) {
	t.Parallel()
	database := persistencetest.New(t)
	pools := pg.ServePools(pg.MinConns)
	for i := range pools {
		pools[i].Lock, pools[i].Account = 0, 10*time.Millisecond
	}
	db, err := persistence.Open(persistence.Config{
		URL: database.URL, SystemURL: database.SystemURL, Pools: pools, Sealer: persistencetest.Keyring().Sealer(),
	})
	must(t, err)
	defer db.Close()
	r, other := open(t, database, "one.example"), open(t, database, "two.example")
	caller := r.Caller(t, database, 0)
	create := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := db.CreateAPIKey(ctx, noon, caller, app.Actor{},
			app.NewAPIKey{Name: "test", Scopes: []app.Scope{app.ScopeReadOrders}, Mode: app.KeyTest}, nil)
		if ctx.Err() != nil {
			t.Error("test key: waits for a change of another website's members, want the error of a wait for a lock")
		}
		return err
	}
	tx, err := database.System().DB.BeginTx(t.Context(), nil)
	must(t, err)
	defer tx.Rollback() //nolint:errcheck // without effect after the test
	_, err = tx.ExecContext(t.Context(), "UPDATE memberships SET role = 'ADMIN' WHERE store_id = $1", other.Stores[0])
	must(t, err)
	if err := create(); app.CodeOf(err) != app.CodeUnavailable {
		t.Errorf("test key: got error %v, want UNAVAILABLE", err)
	}
	must(t, tx.Rollback())
	must(t, create())
}
