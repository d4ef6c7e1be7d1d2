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

// Transactions of requests without an access token do not wait for the row of an account as long as others may wait for
// a lock. They change nothing, and succeed when the row is free.
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
	session, err := db.StartSession(t.Context(), noon, app.Actor{}, r.Owner, "", time.Hour)
	must(t, err)
	customer, err := db.RegisterCustomer(t.Context(), noon, r.Stores[0], app.Actor{},
		identity.NewCustomer{Email: "ada@example.com", PasswordHash: "-"}, time.Hour)
	must(t, err)
	link, customers, invited := app.NewSecret("link"), app.NewSecret("customer's link"), app.NewSecret("invitation")
	must(t, db.CreateReset(t.Context(), noon, app.Actor{}, r.Owner.Email, link))
	must(t, db.MailCustomerReset(t.Context(), noon, r.Stores[0], customer.Customer.ID, customers))
	other := open(t, database, "two.example")
	by := app.Actor{ID: string(other.Owner.ID)}
	_, err = db.Invite(t.Context(), noon, other.Caller(t, database, 0), by,
		app.Invitation{Email: r.Owner.Email, Role: app.RoleStaff, StoreIDs: other.Stores[:1]}, invited, time.Hour, nil)
	must(t, err)

	calls := []struct {
		name string
		call func(ctx context.Context) error
	}{
		{"SetPasswordHash", func(ctx context.Context) error { return db.SetPasswordHash(ctx, r.Owner.ID, "-", "-") }},
		{"UseOTP", func(ctx context.Context) error {
			return db.UseOTP(ctx, noon, app.Actor{}, r.Owner, app.Secret{}, "", identity.Budget{})
		}},
		{"StartSession", func(ctx context.Context) error {
			_, err := db.StartVerifiedSession(ctx, noon, app.Actor{}, r.Owner, "-", "", time.Hour)
			return err
		}},
		{"Refresh", func(ctx context.Context) error {
			_, err := db.Refresh(ctx, noon, app.Actor{}, session.ID, 0, refreshRules)
			return err
		}},
		{"RefreshCustomer", func(ctx context.Context) error {
			_, err := db.RefreshCustomer(ctx, noon, app.Actor{}, customer.ID, 0, "", refreshRules)
			return err
		}},
		{"Accept", func(ctx context.Context) error {
			_, _, err := db.Accept(ctx, noon, app.Actor{}, invited, "", "")
			return err
		}},
		{"MailReset", func(ctx context.Context) error {
			return db.MailReset(ctx, noon, r.Owner.ID, app.NewSecret("another link"))
		}},
		{"ResetPassword", func(ctx context.Context) error {
			return db.ResetPassword(ctx, noon, app.Actor{}, link, "new")
		}},
		{"ResetCustomerPassword", func(ctx context.Context) error {
			return db.ResetCustomerPassword(ctx, noon, app.Actor{}, customers, "new")
		}},
	}
	tx, err := database.System().DB.BeginTx(t.Context(), nil)
	must(t, err)
	defer tx.Rollback() //nolint:errcheck // without effect after the test
	for _, table := range []string{"users", "customers"} {
		_, err = tx.ExecContext(t.Context(), "SELECT FROM "+table+" FOR UPDATE")
		must(t, err)
	}
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
