package identity_test

import (
	"context"
	"database/sql"
	"io"
	"net/url"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Emails are compared in the same way in every locale. In Turkish, the lower case of I is ı.
func TestEmailsInATurkishDatabase(t *testing.T) {
	t.Parallel()
	outer := persistencetest.New(t)
	exec := func(statement string) {
		t.Helper()
		owner, err := sql.Open("pgx", outer.OwnerURL)
		must(t, err)
		defer owner.Close()
		_, err = owner.ExecContext(context.Background(), statement) // also after the test
		must(t, err)
	}
	at, err := url.Parse(outer.OwnerURL)
	must(t, err)
	name := at.Path[1:] + "_tr"
	exec(`CREATE DATABASE ` + name + ` TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'tr'
		LC_COLLATE 'C' LC_CTYPE 'C'`)
	in := func(address string) string {
		u, err := url.Parse(address)
		must(t, err)
		u.Path = "/" + name
		return u.String()
	}
	must(t, pg.Migrate(t.Context(), in(outer.OwnerURL), io.Discard))
	inner, err := persistence.Open(persistence.Config{URL: in(outer.URL), SystemURL: in(outer.SystemURL), MaxConns: 2,
		Sealer: persistencetest.Keyring().Sealer()})
	must(t, err)
	t.Cleanup(func() {
		inner.Close()
		exec("DROP DATABASE " + name + " WITH (FORCE)")
	})
	if got := count(t, &persistencetest.Database{DB: inner}, "SELECT (lower('I') = 'ı')::int"); got != 1 {
		t.Fatal("the database is not Turkish")
	}
	id, err := inner.CreateUser(t.Context(), noon, identity.NewUser{Email: "INFO@Example.com", PasswordHash: "-"})
	must(t, err)
	for _, email := range []string{"info@example.com", "INFO@EXAMPLE.COM", "Info@example.com"} {
		if login, err := inner.LoginByEmail(t.Context(), email); err != nil || login.User.ID != id {
			t.Errorf("login of %s: got %+v and error %v, want %s", email, login.User, err, id)
		}
		_, err := inner.CreateUser(t.Context(), noon, identity.NewUser{Email: email, PasswordHash: "-"})
		if app.CodeOf(err) != app.CodeConflict {
			t.Errorf("user %s: got error %v, want %s", email, err, app.CodeConflict)
		}
	}
	_, err = inner.LoginByEmail(t.Context(), "ınfo@example.com") // another mailbox
	if app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("login with a dotless i: got error %v, want %s", err, app.CodeNotFound)
	}
	_, stores, err := inner.CreateWebsite(t.Context(), noon, identity.NewWebsite{Name: "T", Domain: "t.example",
		Plan: app.PlanStarter}, identity.NewStore{Name: "T", CountryCode: "TR", Timezone: "Europe/Istanbul",
		Views: []app.StoreView{{Code: "tr_tr", Locale: "tr-TR", Currency: "TRY"}}})
	must(t, err)
	register := func(email string) error {
		_, err := inner.RegisterCustomer(t.Context(), noon, stores[0], app.Actor{},
			identity.NewCustomer{Email: email}, time.Hour)
		return err
	}
	must(t, register("INFO@example.com"))
	if err := register("info@example.com"); app.CodeOf(err) != app.CodeEmailTaken {
		t.Errorf("customer with the same email: got error %v, want %s", err, app.CodeEmailTaken)
	}
	if _, err := inner.CustomerLoginByEmail(t.Context(), stores[0], "info@EXAMPLE.com"); err != nil {
		t.Errorf("login of the customer: got error %v", err)
	}
}
