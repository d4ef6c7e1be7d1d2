package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

func (a account) ask(s *Server, change ...func(*http.Request)) *response {
	a.w.Helper()
	body := altered(a.login, object{"password": nil})
	return a.w.doOn(s, "POST", a.paths+"/password-reset", "", body, change...)
}

// asked requests a link and returns the token in the mail, "" if no mail was enqueued.
func (a account) asked(s *Server) string {
	a.w.Helper()
	a.ask(s).ok(http.StatusAccepted, nil)
	s.resets.wait()
	return a.w.mailed(s)
}

func (a account) confirm(token, password string) *response {
	a.w.Helper()
	return a.w.do("POST", a.paths+"/password-reset/confirm", "", object{"token": token, "password": password})
}

func TestPasswordReset(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.mailingServer(func(*Config) {})
	for name, a := range w.accounts() {
		session := a.logIn(password)
		token := a.asked(s)
		if token == "" {
			t.Errorf("%s: got no mail, want one", name)
			continue
		}
		if n := w.text(`SELECT count(*) FROM mails WHERE position('` + token + `'::bytea IN secret) > 0`); n != "0" {
			t.Errorf("mails with the token of the %s as plain text: got %s, want 0", name, n)
		}
		if strings.Contains(w.log.String(), token) {
			t.Errorf("the log contains the token of the %s", name)
		}
		a.confirm(token, "short").refused(app.CodeValidationFailed, "password")
		a.confirm(token, "Comanda2026").refused(app.CodeValidationFailed, "password")
		a.confirm(token, a.login["email"].(string)).refused(app.CodeValidationFailed, "password")
		response := a.confirm(token, otherPassword).ok(200, nil)
		if cookies := response.Header().Values("Set-Cookie"); cookies != nil {
			t.Errorf("reset by the %s: got cookies %q, want none", name, cookies)
		}
		a.confirm(token, password).refused(app.CodeTokenInvalid)
		a.alive(session).refused(app.CodeTokenRevoked)
		a.tryLogin(password).refused(app.CodeInvalidCredentials)
		a.logIn(otherPassword)
	}
}

// A token of the other realm, an unknown, a malformed and an expired token get the same response.
func TestTokensOfResetsThatAreNotValid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.mailingServer(func(*Config) {})
	accounts := w.accounts()
	user, customer := accounts["user"], accounts["customer"]
	ours, theirs := user.asked(s), customer.asked(s)
	want := user.confirm("unknown", otherPassword).refused(app.CodeTokenInvalid)
	const message = "the link is no longer valid; request a new one"
	if got := want.body.Error.Message; got != message {
		t.Errorf("message: got %q, want %q", got, message)
	}
	for _, a := range []*response{
		user.confirm(theirs, otherPassword), customer.confirm(ours, otherPassword),
		user.confirm(ours[4:], otherPassword), user.confirm(ours+" ", otherPassword),
	} {
		if a.same() != want.same() || a.Code != want.Code {
			t.Errorf("got %s, want %s", a.Body, want.Body)
		}
	}
	w.now = w.now.Add(app.PasswordResetTTL)
	user.confirm(ours, otherPassword).refused(app.CodeTokenInvalid)
	customer.confirm(theirs, otherPassword).refused(app.CodeTokenInvalid)
	w.now = w.now.Add(-time.Second)
	user.confirm(ours, otherPassword).ok(200, nil)
}

// Every link ends with a reset by another one, a change of the password or of the email, and disabling.
func TestEndedResetLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.mailingServer(func(*Config) {})
	for name, a := range w.accounts() {
		table := map[string]string{"/auth": "users", "/customer-auth": "customers"}[a.paths]
		email := a.login["email"].(string)
		current := password
		for what, end := range map[string]func(){
			"a newer link": func() {
				newer := a.asked(s)
				current += "!"
				a.confirm(newer, current).ok(200, nil)
			},
			"a change of the password": func() {
				next := current + "?"
				w.do("POST", a.paths+"/password", a.logIn(current), newPasswordBody(current, next)).ok(200, nil)
				current = next
			},
			"a change of the email": func() {
				w.exec("UPDATE "+table+" SET email = 'x' || email WHERE email = $1", email)
				w.exec("UPDATE "+table+" SET email = $1 WHERE email = 'x' || $1", email)
			},
			"disabling": func() {
				w.exec("UPDATE "+table+" SET disabled_at = $2 WHERE email = $1", email, w.now)
				w.exec("UPDATE "+table+" SET disabled_at = NULL WHERE email = $1", email)
			},
		} {
			w.later(time.Hour)
			token := a.asked(s)
			if token == "" {
				t.Fatalf("%s: got no mail, want one", name)
			}
			end()
			response := a.confirm(token, otherPassword)
			response.what += " of the " + name + " after " + what
			response.refused(app.CodeTokenInvalid)
		}
		// A failed guess of the current password, a login and an end of sessions do not.
		w.later(time.Hour)
		token := a.asked(s)
		w.do("DELETE", a.paths+"/sessions", a.logIn(current), nil).ok(204, nil)
		a.confirm(token, otherPassword).ok(200, nil)
	}
}

// Of two requests with one token, one succeeds.
func TestTokenOfAResetUsedTwiceAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.mailingServer(func(*Config) {})
	for name, a := range w.accounts() {
		token := a.asked(s)
		var requests []*http.Request
		for range 4 {
			r := httptest.NewRequest("POST", issuer+a.paths+"/password-reset/confirm",
				reader(t, object{"token": token, "password": otherPassword}))
			r.Header.Set("Content-Type", "application/json")
			requests = append(requests, r)
		}
		statuses := map[int]int{}
		for _, response := range w.atOnce(requests...) {
			statuses[response.Code]++
		}
		if statuses[200] != 1 || statuses[401] != 3 {
			t.Errorf("responses to the %s: got %v, want one 200 and three 401", name, statuses)
		}
	}
}

// Every email causes the same statements and the same bytes of the response, so they do not reveal accounts.
func TestResetsDoNotRevealAccounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	accounts := w.accounts()
	s := w.mailingServer(func(*Config) {})
	unknown := accounts["user"]
	unknown.login = credentials("nobody@example.com", "")
	disabled := accounts["platform administrator"]
	w.exec("UPDATE users SET disabled_at = created_at WHERE email = 'root@example.com'")
	stranger, elsewhere := accounts["customer"], accounts["customer"]
	stranger.login = altered(stranger.login, object{"email": "nobody@example.com"})
	elsewhere.login = altered(elsewhere.login, object{"storeId": "sto_none"})
	known, customer := accounts["user"].ask(s).ok(202, nil).same(), accounts["customer"].ask(s).ok(202, nil).same()
	s.resets.wait()
	for range 2 {
		w.mailed(s)
	}
	for name, c := range map[string]struct {
		account
		want string
	}{
		"unknown email": {unknown, known}, "disabled user": {disabled, known},
		"unknown customer": {stranger, customer}, "unknown store": {elsewhere, customer},
	} {
		w.run(name, func(t *testing.T) {
			if got := c.ask(s).ok(202, nil).same(); got != c.want {
				t.Errorf("%s: got %s, want %s", name, got, c.want)
			}
			s.resets.wait()
			if w.mailed(s) != "" {
				t.Errorf("%s: got a mail, want none", name)
			}
		})
	}

	// The work of the request itself: the account is looked up after the response.
	wire := newWire(t, w.db)
	counted := w.serverOn(wire.db, func(*Config) {})
	release := make(chan struct{})
	for i := range maxResetRequests - 1 {
		counted.resets.run(fmt.Sprint(i), func(context.Context) { <-release })
	}
	defer close(release)
	cost := func(a account) string {
		a.ask(counted).ok(202, nil) // connects and prepares
		wire.take()
		a.ask(counted).ok(202, nil)
		return strings.Join(wire.take(), ";")
	}
	for name, c := range map[string][2]account{
		"users": {accounts["user"], unknown}, "customers": {accounts["customer"], stranger},
	} {
		w.run(name, func(t *testing.T) {
			if a, b := cost(c[0]), cost(c[1]); a != b || a == "" {
				t.Errorf("statements for %s: got %q for an account and %q for none, want the same", name, a, b)
			}
		})
	}
}

// The background lookups are limited. Further requests get 503, for known and unknown emails alike.
func TestResetRequestsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.mailingServer(func(*Config) {})
	accounts := w.accounts()
	release := make(chan struct{})
	for i := 0; s.resets.run(fmt.Sprint(i), func(context.Context) { <-release }); i++ {
	}
	unknown := accounts["user"]
	unknown.login = credentials("nobody@example.com", "")
	accounts["user"].ask(s).refused(app.CodeUnavailable)
	unknown.ask(s).refused(app.CodeUnavailable)
	close(release)
}

// The requests of a website's customers, and those of one network that name no website, take at most half of the free
// places. Those of another website and of another network are processed.
func TestResetRequestsOfAHostileNeighbour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.mailingServer(func(*Config) {})
	accounts := w.accounts()
	release := make(chan struct{})
	website, network := string(w.stores["own"].website), "2001:db8:7::/48"
	for _, owner := range []string{website, network} {
		for s.resets.run(owner, func(context.Context) { <-release }) {
		}
	}
	customer, user := accounts["customer"], accounts["user"]
	customer.ask(s).refused(app.CodeUnavailable)
	user.ask(s, from("2001:db8:7::1")).refused(app.CodeUnavailable)
	customer.login = altered(customer.login, object{"storeId": w.stores["foreign"].id})
	customer.ask(s).ok(202, nil)
	user.ask(s, from("2001:db8:8::1")).ok(202, nil)
	close(release)
	s.resets.wait()
	if len(s.resets.of) != 0 || s.resets.now != 0 {
		t.Errorf("after the end of all requests: got %v, want none", s.resets.of)
	}
}

// Requests and confirmations count against the address and the account, before any hash.
func TestResetsAreRateLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, a := range w.accounts() {
		s := w.strict()
		hashed := atomic.Int64{}
		s.passwords.runs = func() { hashed.Add(1) }
		place := "198.51.100.1"
		if a.paths == "/customer-auth" {
			place = "198.51.100.2"
		} else if a.login["email"] == "root@example.com" {
			place = "198.51.100.3"
		}
		body := object{"token": "unknown", "password": otherPassword}
		for range 5 {
			a.ask(s, from(place)).ok(202, nil)
			w.doOn(s, "POST", a.paths+"/password-reset/confirm", "", body, from(place)).refused(app.CodeTokenInvalid)
		}
		a.ask(s, from(place)).refused(app.CodeRateLimited)
		w.doOn(s, "POST", a.paths+"/password-reset/confirm", "", body, from(place)).refused(app.CodeRateLimited)
		if hashed.Load() != 0 {
			t.Errorf("hashes for unknown tokens: got %d, want 0", hashed.Load())
		}
	}
}

// A person who registered another's address keeps no way into the account after a reset. The names, the phone number
// and the addresses stay: most accounts were registered by the owner of their address.
func TestResetOfAnUnprovenAccountRemovesIdentities(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.mailingServer(func(*Config) {})
	a := w.accounts()["customer"]
	w.exec(`INSERT INTO customer_identities (store_id, provider, subject, customer_id, created_at)
		SELECT store_id, 'google', 'thief', id, created_at FROM customers WHERE email = 'carol@example.com'`)
	before := a.logIn(password)
	path := "/customers/" + w.text("SELECT id FROM customers WHERE email = 'carol@example.com' AND kind = 'registered'")
	w.do("PATCH", path, before, object{"firstName": "Carol", "phone": "+4915199999999"}).ok(200, nil)
	w.do("POST", path+"/addresses", before, addressBody()).ok(201, nil)

	a.confirm(a.asked(s), otherPassword).ok(200, nil)
	w.do("GET", path, before, nil).refused(app.CodeTokenRevoked)
	var got app.Customer
	w.do("GET", path, a.logIn(otherPassword), nil).ok(200, &got)
	addresses := w.text("SELECT count(*) FROM addresses WHERE customer_id = $1", got.ID)
	if got.FirstName != "Carol" || got.Phone == "" || addresses != "1" {
		t.Errorf("account after the reset: got %+v and %s addresses, want the data from before", got, addresses)
	}
	if got := w.text(`SELECT concat((SELECT count(*) FROM customer_identities WHERE subject = 'thief'), ' ',
		(SELECT email_proven FROM customers
		WHERE email = 'carol@example.com' AND kind = 'registered'))`); got != "0 t" {
		t.Errorf("identities and proof after the reset: got %q, want %q", got, "0 t")
	}
}

// A person who knew the password of an account, also of a proven one, keeps no social login. The trail names its
// provider.
func TestResetRemovesSocialLogins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.mailingServer(func(*Config) {})
	a := w.accounts()["customer"]
	w.exec("UPDATE customers SET email_proven = true WHERE email = 'carol@example.com'")
	w.exec(`INSERT INTO customer_identities (store_id, provider, subject, customer_id, created_at)
		SELECT store_id, 'google', 'thief', id, created_at FROM customers WHERE email = 'carol@example.com'`)
	a.confirm(a.asked(s), otherPassword).ok(200, nil)
	a.confirm(a.asked(s), password).ok(200, nil)
	if got := w.text("SELECT count(*) FROM customer_identities WHERE subject = 'thief'"); got != "0" {
		t.Errorf("social logins after the reset: got %s, want 0", got)
	}
	const want = `{"unlinked": ["google"]} {}`
	if got := w.text(`SELECT string_agg(details::text, ' ' ORDER BY details::text) FROM audit
		WHERE action = 'password.reset'`); got != want {
		t.Errorf("details of the trail: got %s, want %s", got, want)
	}
}

// The page needs no credential, allows only its own files, and has nothing of the request in it.
func TestAccountPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for path, mediaType := range map[string]string{
		"/account/reset": "text/html", "/account/confirm-email": "text/html", "/account/account.js": "text/javascript",
		"/account/account.css": "text/css",
	} {
		r := httptest.NewRequest("GET", issuer+path+"?token=swordfish", nil)
		r.Host = "evil.test"
		response := httptest.NewRecorder()
		w.server.ServeHTTP(response, r)
		header := response.Header()
		policy := header.Get("Content-Security-Policy")
		if response.Code != 200 || !strings.HasPrefix(header.Get("Content-Type"), mediaType) ||
			header.Get("Referrer-Policy") != "no-referrer" || header.Get("Cache-Control") != "no-store" ||
			!strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: got %d %v, want 200 with %s, no-referrer, no-store and a strict policy", path, response.Code,
				header, mediaType)
		}
		for _, foreign := range []string{"evil.test", "swordfish", "http://", "https://"} {
			if strings.Contains(response.Body.String(), foreign) {
				t.Errorf("%s: got %s in the page, want no part of the query and no other server", path, foreign)
			}
		}
	}
	if strings.Contains(w.log.String(), "swordfish") {
		t.Error("the log contains the query")
	}
}
