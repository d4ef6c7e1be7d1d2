package persistence_test

import (
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestCustomerSessions(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	first, err := db.RegisterCustomer(t.Context(), noon, store, persistence.NewCustomer{Email: "ada@example.com", FirstName: "Ada", PasswordHash: "old"}, time.Hour)
	must(t, err)
	who, err := db.AuthenticateCustomer(t.Context(), first.ID, first.Customer.ID, store)
	must(t, err)
	if who.Realm != app.RealmCustomer || who.CustomerID != first.Customer.ID || who.WebsiteID != r.Website || who.View.Currency != "EUR" || who.Role != "" || who.UserID != "" {
		t.Errorf("principal %+v", who)
	}
	for email, want := range map[string]app.Code{"ADA@example.com": app.CodeEmailTaken, "ada@example.com": app.CodeEmailTaken, "bob@example.com": ""} {
		if _, err := db.RegisterCustomer(t.Context(), noon, store, persistence.NewCustomer{Email: email}, time.Hour); app.CodeOf(err) != want {
			t.Errorf("%s: %v", email, err)
		}
	}
	if _, err := db.RegisterCustomer(t.Context(), noon, "sto_none", persistence.NewCustomer{Email: "ada@example.com"}, time.Hour); app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("unknown store: %v", err)
	}
	must(t, db.EndCustomerSession(t.Context(), noon, store, first.Customer.ID, first.ID))
	if _, err := db.AuthenticateCustomer(t.Context(), first.ID, first.Customer.ID, store); app.CodeOf(err) != app.CodeTokenRevoked {
		t.Errorf("ended: %v", err)
	}
}

// A login that was checked against a password which has changed since does not begin.
func TestStartCustomerSessionChecksAgain(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	store := open(t, db, "one.example").Stores[0]
	_, err := db.RegisterCustomer(t.Context(), noon, store, persistence.NewCustomer{Email: "ada@example.com", PasswordHash: "old"}, time.Hour)
	must(t, err)
	stale, err := db.CustomerLoginByEmail(t.Context(), store, "ADA@EXAMPLE.com")
	must(t, err)
	_, err = db.StartCustomerSession(t.Context(), noon, store, stale, "new", time.Hour)
	must(t, err)
	if _, err := db.StartCustomerSession(t.Context(), noon, store, stale, "", time.Hour); app.CodeOf(err) != app.CodeInvalidCredentials {
		t.Errorf("another hash: %v", err)
	}
	login, err := db.CustomerLoginByEmail(t.Context(), store, "ada@example.com")
	must(t, err)
	if login.PasswordHash != "new" {
		t.Errorf("the hash is %q", login.PasswordHash)
	}
	_, err = db.System().DB.ExecContext(t.Context(), "UPDATE customers SET disabled_at = now()")
	must(t, err)
	if _, err := db.StartCustomerSession(t.Context(), noon, store, login, "", time.Hour); app.CodeOf(err) != app.CodeInvalidCredentials {
		t.Errorf("disabled: %v", err)
	}
}
