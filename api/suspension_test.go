package api

import (
	"sync/atomic"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// suspend suspends the website of the store own, or ends that.
func (w *world) suspend(suspended bool) {
	w.Helper()
	w.do("PATCH", "/platform/websites/"+string(w.stores["own"].website), w.tokens["PLATFORM"], object{"suspended": suspended}).ok(200, nil)
}

// TestNobodyEntersASuspendedWebsite: to customers its stores are as unknown as any, users
// without another store have no login, invitations wait; nothing is handed out or written.
func TestNobodyEntersASuspendedWebsite(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	own := w.stores["own"].id
	w.withPassword("user", nil, "own")
	w.do("POST", "/customer-auth/register", "", registration(own)).ok(201, nil)
	known := w.provider.sign("one", w.claims(nil)).Reveal()
	stranger := w.provider.sign("one", w.claims(object{"sub": "new", "email": "new@gmail.com"})).Reveal()
	w.loginWith(object{"provider": "google", "token": known}).ok(200, nil)
	b := w.browse("MANAGER", "own")
	var invited invitationOut
	w.do("POST", "/users", w.tokens["OWNER"], grace("STAFF")).ok(201, &invited)
	hashes := atomic.Int64{}
	w.world.server.passwords.runs = func() { hashes.Add(1) }

	register := func(store app.StoreID) *answer {
		return w.do("POST", "/customer-auth/register", "", altered(registration(store), object{"email": "bob@example.com"}))
	}
	login := func(store app.StoreID) *answer {
		return w.do("POST", "/customer-auth/login", "", object{"storeId": store, "email": "ada@example.com", "password": password})
	}
	social := func(store app.StoreID, token string) *answer {
		return w.loginWith(object{"storeId": store, "provider": "google", "token": token})
	}
	rows := func() string {
		return w.text(`SELECT concat((SELECT count(*) FROM customers), ' ', (SELECT count(*) FROM customer_sessions), ' ', (SELECT count(*) FROM sessions), ' ',
			(SELECT count(*) FROM memberships), ' ', (SELECT count(*) FROM outbox))`)
	}
	w.suspend(true)
	before := rows()
	for name, c := range map[string]struct {
		want            app.Code
		closed, unknown func() *answer
	}{
		"register":         {app.CodeNotFound, func() *answer { return register(own) }, func() *answer { return register("sto_none") }},
		"login":            {app.CodeInvalidCredentials, func() *answer { return login(own) }, func() *answer { return login("sto_none") }},
		"a known identity": {app.CodeNotFound, func() *answer { return social(own, known) }, func() *answer { return social("sto_none", known) }},
		"a new identity":   {app.CodeNotFound, func() *answer { return social(own, stranger) }, func() *answer { return social("sto_none", stranger) }},
		"a user's login": {app.CodeInvalidCredentials,
			func() *answer { return w.do("POST", "/auth/login", "", credentials("user@example.com", password)) },
			func() *answer { return w.do("POST", "/auth/login", "", credentials("nobody@example.com", password)) }},
		"an invitation": {app.CodeTokenInvalid,
			func() *answer { return w.do("POST", "/auth/accept-invite", "", accept(invited.Token, password)) },
			func() *answer { return w.do("POST", "/auth/accept-invite", "", accept("unknown", password)) }},
	} {
		start := hashes.Load()
		closed := c.closed()
		middle := hashes.Load()
		unknown := c.unknown()
		closed.what, unknown.what = name, name+" elsewhere"
		if closed.refused(c.want).same() != unknown.refused(c.want).same() || closed.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s: %s (%v) instead of %s", name, closed.Body, closed.Header(), unknown.Body)
		}
		if here, there := middle-start, hashes.Load()-middle; here != there {
			t.Errorf("%s: %d hashes instead of %d", name, here, there)
		}
	}
	b.present(b.cookie).refused(app.CodeTokenRevoked).cleared()
	if after := rows(); after != before {
		t.Errorf("rows: %s, then %s", before, after)
	}

	w.suspend(false)
	b.refresh() // nothing was used up
	w.do("POST", "/auth/accept-invite", "", accept(invited.Token, password)).ok(200, nil)
	login(own).ok(200, nil)
	social(own, known).ok(200, nil)
	social(own, stranger).ok(200, nil)
	register(own).ok(201, nil)
}
