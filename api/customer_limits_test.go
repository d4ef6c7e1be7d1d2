package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// A customer can make 30 changes of the profile and the addresses per hour, so that they do not fill the queue of the
// store.
func TestOwnChangesAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada, bob := w.addCustomer("own", "ada@example.com"), w.addCustomer("own", "bob@example.com")
	path := "/customers/" + string(ada.Customer.ID)
	change := func(path, token string, i int) *response {
		return w.do("PATCH", path, token, object{"firstName": fmt.Sprintf("Ada %d", i)})
	}
	before := len(w.eventData("own", app.EventCustomerUpdated))
	var home app.Address
	w.do("POST", path+"/addresses", ada.AccessToken, addressBody()).ok(201, &home)
	address := path + "/addresses/" + string(home.ID)
	w.do("PATCH", address, ada.AccessToken, object{"city": "Rome"}).ok(200, nil)
	w.do("DELETE", address, ada.AccessToken, nil).ok(204, nil)
	// Requests that an earlier step refuses do not count.
	for range 5 {
		w.do("PATCH", path, ada.AccessToken, object{"phone": "1"}).refused(app.CodeValidationFailed, "phone")
		w.do("PATCH", address, ada.AccessToken, object{"city": "Rome"}).refused(app.CodeNotFound)
		w.do("DELETE", address, ada.AccessToken, nil).refused(app.CodeNotFound)
		change("/customers/"+string(bob.Customer.ID), ada.AccessToken, 0).refused(app.CodeNotFound)
		change(path, w.tokens["MANAGER"], 0).ok(200, nil)
	}
	for i := range 27 {
		change(path, ada.AccessToken, i+1).ok(200, nil)
	}
	for i := range 10 {
		change(path, ada.AccessToken, i+100).refused(app.CodeRateLimited)
		w.do("POST", path+"/addresses", ada.AccessToken, addressBody()).refused(app.CodeRateLimited)
	}
	if got := len(w.eventData("own", app.EventCustomerUpdated)) - before; got != 31 { // one of them by the manager
		t.Errorf("got %d events, want 31", got)
	}
	if wait := change(path, ada.AccessToken, 99).retryAfter(); wait > time.Hour || wait < 59*time.Minute {
		t.Errorf("got Retry-After %v, want about an hour", wait)
	}
	w.do("GET", path, ada.AccessToken, nil).ok(200, nil)
	change(path, w.tokens["MANAGER"], 99).ok(200, nil)
	change("/customers/"+string(bob.Customer.ID), bob.AccessToken, 1).ok(200, nil)
	w.later(time.Hour)
	change(path, ada.AccessToken, 100).ok(200, nil)
}

// All addresses together can register ten times the limit of one address per store and hour.
func TestRegistrationsAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// The window of addresses and networks is so short that only the registrations are limited.
	server := w.serverOn(w.db.DB, func(c *Config) { c.RateLimit, c.RateWindow = 1, time.Microsecond })
	n := 0
	register := func(store, address string, change object) *response {
		n++
		email := object{"email": fmt.Sprintf("customer%d@example.com", n)}
		return w.doOn(server, "POST", "/customer-auth/register", "",
			altered(altered(registration(w.stores[store].id), email), change), from(address))
	}
	for name, c := range map[string]struct {
		address   string // of the network, with %d
		otherwise string // of another network
	}{
		"IPv4": {"203.0.113.%d", "203.0.114.1"},
		"IPv6": {"2001:db8:0:%x::1", "2001:db8:1::1"},
	} {
		w.run(name, func(t *testing.T) {
			at := func(i int) string { return fmt.Sprintf(c.address, i) }
			for i := range 10 {
				register("own", at(i), nil).ok(201, nil)
			}
			// Requests that an earlier step refuses do not count.
			for i, change := range []object{{"password": "password"}, {"firstName": nil}} {
				register("own", at(20+i), change).refused(app.CodeValidationFailed)
			}
			register("own", at(30), object{"storeId": "sto_none"}).refused(app.CodeNotFound)
			a := register("own", at(40), nil)
			if wait := a.retryAfter(); wait > time.Hour || wait < 59*time.Minute {
				t.Errorf("%s: got Retry-After %v, want about an hour", name, wait)
			}
			register("sibling", at(50), nil).ok(201, nil)
			register("own", c.otherwise, nil).ok(201, nil)
		})
	}
	w.later(time.Hour)
	register("own", "203.0.113.9", nil).ok(201, nil)
	if strings.Contains(w.text("SELECT string_agg(encode(key, 'escape'), ' ') FROM rate_limits"), "203.0") {
		t.Error("the database contains addresses of clients")
	}
}

// A social login that creates an account counts as a registration. A login to an existing account does not.
func TestSocialRegistrationsAreLimited(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	w.server.limiter.most = 1
	login := func(subject int, store string, address string) *response {
		token := w.provider.sign("one", w.claims(object{
			"sub": fmt.Sprint(subject), "email": fmt.Sprintf("customer%d@gmail.com", subject),
		}))
		return w.doOn(w.server, "POST", "/customer-auth/social", "",
			object{"storeId": w.stores[store].id, "provider": "google", "token": token.Reveal()}, from(address))
	}
	register := func(address string) *response {
		return w.doOn(w.server, "POST", "/customer-auth/register", "", registration(w.stores["own"].id), from(address))
	}
	at := func(i int) string { return fmt.Sprintf("203.0.113.%d", i) }
	for i := range 10 {
		login(i, "own", at(i)).ok(200, nil)
	}
	accounts := w.text("SELECT count(*) FROM customers")
	refused := login(10, "own", at(10)).refused(app.CodeRateLimited)
	if wait := refused.retryAfter(); wait > time.Hour || wait < 59*time.Minute {
		t.Errorf("got Retry-After %v, want about an hour", wait)
	}
	register(at(11)).refused(app.CodeRateLimited)
	if got := w.text("SELECT count(*) FROM customers"); got != accounts {
		t.Errorf("accounts after refused registrations: got %s, want %s", got, accounts)
	}
	login(3, "own", at(12)).ok(200, nil)
	login(10, "sibling", at(13)).ok(200, nil)
	login(10, "own", "203.0.114.1").ok(200, nil)
}
