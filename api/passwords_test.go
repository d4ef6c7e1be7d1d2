package api

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

const otherPassword = "a new horse for the battery"

func newPasswordBody(current, next string) object {
	return object{"currentPassword": current, "newPassword": next}
}

// account is a user or a customer who can log in, in one of the realms.
type account struct {
	w     *world
	paths string // "/auth" or "/customer-auth"
	login object
}

// accounts are one of each realm.
func (w *world) accounts() map[string]account {
	w.Helper()
	role := app.PlatformAdmin
	w.withPassword("ada", nil, "own")
	w.withPassword("root", &role)
	w.addCustomer("own", "carol@example.com")
	hash := quickHash(w.T, password)
	w.exec("UPDATE customers SET password_hash = $1 WHERE email = 'carol@example.com'", hash)
	w.exec("UPDATE customer_sessions SET ended_at = created_at")
	return map[string]account{
		"user":                   {w, "/auth", credentials("ada@example.com", password)},
		"platform administrator": {w, "/auth", credentials("root@example.com", password)},
		"customer": {w, "/customer-auth",
			altered(credentials("carol@example.com", password), object{"storeId": w.stores["own"].id})},
	}
}

// logIn logs in with a password and returns the access token.
func (a account) logIn(password string) string {
	a.w.Helper()
	var data struct{ AccessToken string }
	a.tryLogin(password).ok(200, &data)
	return data.AccessToken
}

func (a account) tryLogin(password string) *response {
	a.w.Helper()
	return a.w.do("POST", a.paths+"/login", "", altered(a.login, object{"password": password}))
}

// alive requests something with an access token.
func (a account) alive(token string) *response {
	a.w.Helper()
	path := "/auth/me"
	if a.paths == "/customer-auth" {
		path = "/customers"
	}
	return a.w.do("GET", path, token, nil)
}

func TestChangePassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, a := range w.accounts() {
		t.Run(name, func(t *testing.T) {
			current, other := a.logIn(password), a.logIn(password)
			path := a.paths + "/password"
			w.do("POST", path, current, newPasswordBody("wrong", otherPassword)).refused(app.CodeInvalidCredentials)
			w.do("POST", path, current, newPasswordBody(password, "short")).
				refused(app.CodeValidationFailed, "newPassword")
			w.do("POST", path, current, newPasswordBody(password, "Comanda2026")).
				refused(app.CodeValidationFailed, "newPassword")
			w.do("POST", path, current, newPasswordBody("", otherPassword)).
				refused(app.CodeValidationFailed, "currentPassword")
			a.alive(other).ok(200, nil)
			w.do("POST", path, current, newPasswordBody(password, otherPassword)).ok(200, nil)
			a.alive(current).ok(200, nil)
			a.alive(other).refused(app.CodeTokenRevoked)
			w.do("POST", path, other, newPasswordBody(otherPassword, password)).refused(app.CodeTokenRevoked)
			a.tryLogin(password).refused(app.CodeInvalidCredentials)
			a.logIn(otherPassword)
		})
	}
	if n := w.text(`SELECT count(*) FROM sessions WHERE end_reason = 'password'`); n != "2" {
		t.Errorf("sessions of users that ended: got %s, want 2", n)
	}
}

// A new password is not made of the names that an attacker sees.
func TestNewPasswordsAreNotNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, a := range w.accounts() {
		token := a.logIn(password)
		for _, weak := range []string{"ada@example.com", "carol@example.com", "root@example.com", "Sibling1one.test"} {
			mine := weak == a.login["email"]
			response := w.do("POST", a.paths+"/password", token, newPasswordBody("wrong", weak))
			response.what += " by the " + name + " to " + weak
			if mine {
				response.refused(app.CodeValidationFailed, "newPassword")
			} else if response.Code == 200 {
				t.Errorf("%s: got 200, want an error", response.what)
			}
		}
	}
}

// Guesses of the current password count against the account over all sessions, before any hash.
func TestGuessesOfTheCurrentPasswordAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	accounts := w.accounts()
	s := w.serverOn(w.db.DB, func(c *Config) { c.RateLimit, c.RateWindow = 1, time.Hour })
	hashed := atomic.Int64{}
	for name, a := range accounts {
		hashed.Store(0)
		s.passwords.runs = func() { hashed.Add(1) }
		for i := range 12 {
			token := a.session()
			response := w.doOn(s, "POST", a.paths+"/password", token, newPasswordBody("wrong", otherPassword))
			response.what += " by the " + name
			if want := app.CodeInvalidCredentials; i < accountFactor {
				response.refused(want)
			} else {
				response.refused(app.CodeRateLimited)
			}
		}
		if hashed.Load() != accountFactor {
			t.Errorf("hashes for the %s: got %d, want %d", name, hashed.Load(), accountFactor)
		}
		// The budget is that of the logins.
		w.doOn(s, "POST", a.paths+"/login", "", a.login, from("203.0.113.9")).refused(app.CodeRateLimited)
	}
}

// session logs in without a request.
func (a account) session() string {
	a.w.Helper()
	w := a.w
	email := a.login["email"].(string)
	if a.paths == "/auth" {
		name := map[string]string{"ada@example.com": "ada", "root@example.com": "root"}[email]
		return w.token(name, w.stores["own"].id)
	}
	own := w.stores["own"].id
	login, err := w.db.CustomerLoginByEmail(w.Context(), own, email)
	w.must(err)
	session, err := w.db.StartCustomerSession(w.Context(), w.now, own, app.Actor{}, login, "", time.Hour)
	w.must(err)
	token, err := w.server.tokens.mint(w.now, customerClaims(own, session))
	w.must(err)
	return token
}

// A login whose password was checked before the password changed does not begin a session after it.
func TestLoginBegunBeforeAChangeOfThePassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, a := range w.accounts() {
		current := a.logIn(password)
		first := true
		s := w.serverOn(w.db.DB, func(*Config) {})
		s.passwords.runs = func() { // the login's check, whose hash has been read
			if first {
				first = false
				w.do("POST", a.paths+"/password", current, newPasswordBody(password, otherPassword)).ok(200, nil)
			}
		}
		response := w.doOn(s, "POST", a.paths+"/login", "", a.login)
		response.what += " of the " + name
		response.refused(app.CodeInvalidCredentials)
	}
}

// Of two changes from the same password, one wins.
func TestChangePasswordTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.accounts()["user"]
	p, err := w.db.Authenticate(context.Background(), app.SessionID(w.claimsOf(a.logIn(password))["sid"].(string)),
		w.users["ada"].ID, w.stores["own"].id)
	w.must(err)
	login, err := w.db.LoginOf(t.Context(), w.users["ada"].ID)
	w.must(err)
	w.must(w.db.ChangePassword(t.Context(), noon, p, app.Actor{}, login.PasswordHash, "first"))
	err = w.db.ChangePassword(t.Context(), noon, p, app.Actor{}, login.PasswordHash, "second")
	if app.CodeOf(err) != app.CodeInvalidCredentials {
		t.Errorf("second change from the same password: got %v, want %s", err, app.CodeInvalidCredentials)
	}
}
