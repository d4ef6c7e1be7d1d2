package identity_test

import (
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestCustomerSessions(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	first, err := db.RegisterCustomer(t.Context(), noon, store, app.Actor{},
		identity.NewCustomer{Email: "ada@example.com", FirstName: "Ada", PasswordHash: "old"}, time.Hour)
	must(t, err)
	principal, err := db.AuthenticateCustomer(t.Context(), first.ID, first.Customer.ID, store)
	must(t, err)
	if principal.Realm != app.RealmCustomer || principal.CustomerID != first.Customer.ID ||
		principal.WebsiteID != r.Website || principal.View.Currency != "EUR" ||
		principal.Role != "" || principal.UserID != "" {
		t.Errorf("got principal %+v, want customer %s of website %s", principal, first.Customer.ID, r.Website)
	}
	for email, want := range map[string]app.Code{"ADA@example.com": app.CodeEmailTaken,
		"ada@example.com": app.CodeEmailTaken, "bob@example.com": ""} {
		_, err := db.RegisterCustomer(t.Context(), noon, store, app.Actor{}, identity.NewCustomer{Email: email}, time.Hour)
		if app.CodeOf(err) != want {
			t.Errorf("register %s: got error %v, want code %q", email, err, want)
		}
	}
	_, err = db.RegisterCustomer(t.Context(), noon, "sto_none", app.Actor{},
		identity.NewCustomer{Email: "ada@example.com"}, time.Hour)
	if app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("register in an unknown store: got error %v, want %s", err, app.CodeNotFound)
	}
	must(t, db.EndCustomerSession(t.Context(), noon, app.Actor{}, app.Principal{
		StoreID: store, CustomerID: first.Customer.ID, SessionID: first.ID,
	}))
	_, err = db.AuthenticateCustomer(t.Context(), first.ID, first.Customer.ID, store)
	if app.CodeOf(err) != app.CodeTokenRevoked {
		t.Errorf("authenticate with an ended session: got error %v, want %s", err, app.CodeTokenRevoked)
	}
}

// A session does not start if the password has changed since it was verified, or the customer is
// disabled.
func TestStartCustomerSessionRejectsStaleLogin(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	store := open(t, db, "one.example").Stores[0]
	_, err := db.RegisterCustomer(t.Context(), noon, store, app.Actor{},
		identity.NewCustomer{Email: "ada@example.com", PasswordHash: "old"}, time.Hour)
	must(t, err)
	stale, err := db.CustomerLoginByEmail(t.Context(), store, "ADA@EXAMPLE.com")
	must(t, err)
	_, err = db.StartCustomerSession(t.Context(), noon, store, app.Actor{}, stale, "new", time.Hour)
	must(t, err)
	_, err = db.StartCustomerSession(t.Context(), noon, store, app.Actor{}, stale, "", time.Hour)
	if app.CodeOf(err) != app.CodeInvalidCredentials {
		t.Errorf("stale login: got error %v, want %s", err, app.CodeInvalidCredentials)
	}
	login, err := db.CustomerLoginByEmail(t.Context(), store, "ada@example.com")
	must(t, err)
	if login.PasswordHash != "new" {
		t.Errorf("password hash: got %q, want %q", login.PasswordHash, "new")
	}
	_, err = db.System().DB.ExecContext(t.Context(), "UPDATE customers SET disabled_at = now()")
	must(t, err)
	_, err = db.StartCustomerSession(t.Context(), noon, store, app.Actor{}, login, "", time.Hour)
	if app.CodeOf(err) != app.CodeInvalidCredentials {
		t.Errorf("disabled customer: got error %v, want %s", err, app.CodeInvalidCredentials)
	}
}

// Statements about sessions of customers name the store, also for the role that sees every store.
func TestCustomerSessionsOfAnotherStore(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	ada, err := db.RegisterCustomer(t.Context(), noon, r.Stores[0], app.Actor{},
		identity.NewCustomer{Email: "ada@example.com", FirstName: "Ada", PasswordHash: "-"}, time.Hour)
	must(t, err)
	if n, err := db.EndSessionsOf(t.Context(), noon, r.Stores[1], ada.Customer.ID); err != nil || n != 0 {
		t.Errorf("ended sessions in another store: got %d, %v, want 0", n, err)
	}
	if n, err := db.EndSessionsOf(t.Context(), noon, r.Stores[0], ada.Customer.ID); err != nil || n != 1 {
		t.Errorf("ended sessions in the customer's store: got %d, %v, want 1", n, err)
	}
}
