package api

import (
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// suspend suspends the website of the store own, or ends that.
func (w *world) suspend(suspended bool) {
	w.Helper()
	w.do("PATCH", "/platform/websites/"+string(w.stores["own"].website), w.tokens["PLATFORM"],
		object{"suspended": suspended}).ok(200, nil)
}

// Right credentials of a suspended website get WEBSITE_SUSPENDED, wrong ones the same response as elsewhere.
// Nothing is issued or written, and everything works again after the suspension.
func TestSuspendedWebsiteRefusesCredentials(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	own := w.stores["own"].id
	w.withPassword("user", nil, "own")
	w.do("POST", "/customer-auth/register", "", registration(own)).ok(201, nil)
	known := w.provider.sign("one", w.claims(nil)).Reveal()
	w.loginWith(object{"provider": "google", "token": known}).ok(200, nil)
	known = w.provider.sign("one", w.claims(nil)).Reveal()
	stranger := w.provider.sign("one", w.claims(object{"sub": "new", "email": "new@gmail.com"})).Reveal()
	b := w.browse("MANAGER", "own")
	var invited invitationOut
	w.do("POST", "/users", w.tokens["OWNER"], grace("STAFF")).ok(201, &invited)
	hashes := atomic.Int64{}
	w.world.server.passwords.runs = func() { hashes.Add(1) }

	register := func(store app.StoreID) *response {
		return w.do("POST", "/customer-auth/register", "",
			altered(registration(store), object{"email": "bob@example.com"}))
	}
	login := func(store app.StoreID, password string) *response {
		return w.do("POST", "/customer-auth/login", "",
			object{"storeId": store, "email": "ada@example.com", "password": password})
	}
	social := func(store app.StoreID, token string) *response {
		return w.loginWith(object{"storeId": store, "provider": "google", "token": token})
	}
	rows := func() string {
		return w.text(`SELECT concat((SELECT count(*) FROM customers), ' ',
			(SELECT count(*) FROM customer_sessions), ' ', (SELECT count(*) FROM sessions), ' ',
			(SELECT count(*) FROM memberships), ' ', (SELECT count(*) FROM outbox))`)
	}
	w.suspend(true)
	before := rows()
	for name, request := range map[string]func() *response{
		"register":         func() *response { return register(own) },
		"customer login":   func() *response { return login(own, password) },
		"a known identity": func() *response { return social(own, known) },
		"a new identity":   func() *response { return social(own, stranger) },
		"login": func() *response {
			return w.do("POST", "/auth/login", "", credentials("user@example.com", password))
		},
		"accept-invite": func() *response {
			return w.do("POST", "/auth/accept-invite", "", accept(invited.Token, password))
		},
		"refresh": func() *response { return b.present(b.cookie) },
	} {
		w.run(name, func(t *testing.T) {
			a := request()
			if a.refused(app.CodeWebsiteSuspended); a.Header().Get("Set-Cookie") != "" {
				t.Errorf("%s: got the cookie %q, want none", name, a.Header().Get("Set-Cookie"))
			}
		})
	}
	for name, c := range map[string]struct {
		want          app.Code
		closed, other func() *response
	}{
		"a customer's wrong password": {
			app.CodeInvalidCredentials, func() *response { return login(own, "swordfish") },
			func() *response { return login("sto_none", "swordfish") },
		},
		"a user's wrong password": {app.CodeInvalidCredentials,
			func() *response { return w.do("POST", "/auth/login", "", credentials("user@example.com", "swordfish")) },
			func() *response {
				return w.do("POST", "/auth/login", "", credentials("nobody@example.com", "swordfish"))
			}},
	} {
		w.run(name, func(t *testing.T) {
			start := hashes.Load()
			closed := c.closed()
			middle := hashes.Load()
			other := c.other()
			closed.what, other.what = name, name+" elsewhere"
			if closed.refused(c.want).same() != other.refused(c.want).same() || closed.Header().Get("Set-Cookie") != "" {
				t.Errorf("%s: got %s (%v), want %s", name, closed.Body, closed.Header(), other.Body)
			}
			if here, there := middle-start, hashes.Load()-middle; here != there {
				t.Errorf("%s: got %d hashes, want %d", name, here, there)
			}
		})
	}
	if after := rows(); after != before {
		t.Errorf("rows: got %s, want %s", after, before)
	}

	w.suspend(false)
	b.refresh() // nothing was used up
	w.do("POST", "/auth/accept-invite", "", accept(invited.Token, password)).ok(200, nil)
	login(own, password).ok(200, nil)
	social(own, known).ok(200, nil)
	social(own, stranger).ok(200, nil)
	register(own).ok(201, nil)
}

// The audit trails of suspended stores record failed logins too, also those with the right password.
func TestSuspendedWebsiteIsAudited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withPassword("user", nil, "own")
	w.suspend(true)
	w.do("POST", "/auth/login", "", credentials("user@example.com", password)).refused(app.CodeWebsiteSuspended)
	w.do("POST", "/auth/login", "", credentials("user@example.com", swordfish)).refused(app.CodeInvalidCredentials)
	var got []string
	for _, entry := range w.trail("action = 'login.failed' ORDER BY details::text") {
		got = append(got, entry.store+" "+entry.details)
	}
	want := []string{`own {"reason": "password"}`, `own {"reason": "suspended"}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries of failed logins (-want +got):\n%s", diff)
	}
}
