package api

import (
	"slices"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// proofRequired are the operations that require a recent proof of identity.
var proofRequired = []string{"DELETE /auth/sessions", "POST /users", "PATCH /users/{id}", "POST /api-keys"}

// An hour after the user gave a password, a session can use none of the operations until the user gives it again. Other
// operations are not affected, and a refresh proves nothing.
func TestRecentProofOfIdentity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec("UPDATE users SET password_hash = $1 WHERE id = $2", quickHash(t, password), w.users["OWNER"].ID)
	session, other, staff := w.browse("OWNER", "own"), w.browse("OWNER", "own"), w.browse("STAFF", "own")
	w.exec("UPDATE sessions SET expires_at = expires_at + interval '1 day'")
	tokens := func() (string, string) {
		session.refresh()
		other.refresh()
		return session.access, other.access
	}
	reauthenticate := func(token, password string) *response {
		return w.do("POST", "/auth/reauthenticate", token, object{"password": password})
	}

	w.now = noon.Add(time.Hour)
	token, idle := tokens()
	var found []string
	for _, rt := range routes() {
		if rt.Proof {
			found = append(found, rt.Method+" "+rt.Path)
			w.attempt(rt, "own", token).ok(rt.Status, nil)
		}
	}
	slices.Sort(found)
	if want := slices.Sorted(slices.Values(proofRequired)); !slices.Equal(found, want) {
		t.Errorf("operations that require a recent proof: got %q, want %q", found, want)
	}
	w.exec("UPDATE sessions SET ended_at = NULL, end_reason = NULL")
	w.now = noon.Add(time.Hour + time.Millisecond)
	for _, rt := range routes() {
		if rt.Proof {
			w.attempt(rt, "own", token).refused(app.CodeReauthentication)
		}
	}
	w.do("GET", "/auth/sessions", token, nil).ok(200, nil)
	w.do("GET", "/users", token, nil).ok(200, nil)
	w.do("DELETE", "/users/"+string(w.addMember(w.stores["own"].id)), token, nil).ok(204, nil)

	reauthenticate(token, "wrong").refused(app.CodeInvalidCredentials)
	w.do("POST", "/api-keys", token, apiKeyBody()).refused(app.CodeReauthentication)
	var proof reauthenticateOut
	reauthenticate(token, password).ok(200, &proof)
	if want := app.At(w.now.Add(time.Hour)); proof.Until != want {
		t.Errorf("until: got %v, want %v", proof.Until, want)
	}
	w.do("POST", "/api-keys", token, apiKeyBody()).ok(201, nil)
	w.do("POST", "/api-keys", idle, apiKeyBody()).refused(app.CodeReauthentication)
	w.now = proof.Until.Time
	token, _ = tokens()
	w.do("POST", "/api-keys", token, apiKeyBody()).ok(201, nil)
	w.now = w.now.Add(time.Millisecond)
	w.do("POST", "/api-keys", token, apiKeyBody()).refused(app.CodeReauthentication)

	// The order is: role, recent proof, validation.
	w.do("POST", "/api-keys", token, object{}).refused(app.CodeReauthentication)
	staff.refresh()
	w.do("POST", "/api-keys", staff.access, object{}).refused(app.CodeInsufficientRole)
	w.do("POST", "/api-keys", w.key("own", app.Scopes[:]...), object{}).refused(app.CodeInsufficientScope)
}

// The rule applies to platform administrators, and not to customers.
func TestRecentProofInOtherRealms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root := w.browse("PLATFORM", "own")
	w.exec("UPDATE sessions SET expires_at = expires_at + interval '1 day'")
	cookie := w.customerLogin("ada@example.com")
	w.now = noon.Add(2 * time.Hour)
	root.refresh()
	w.do("DELETE", "/auth/sessions", root.access, nil).refused(app.CodeReauthentication)
	w.do("GET", "/platform/websites", root.access, nil).ok(200, nil)
	w.exec("UPDATE users SET password_hash = $1 WHERE id = $2", quickHash(t, password), w.users["PLATFORM"].ID)
	w.do("POST", "/auth/reauthenticate", root.access, object{"password": password}).ok(200, nil)
	w.do("DELETE", "/auth/sessions", root.access, nil).ok(204, nil)

	var next refreshOut
	w.customerRefresh(cookie).ok(200, &next)
	w.do("DELETE", "/customer-auth/sessions", next.AccessToken, nil).ok(204, nil)
}

// A user with one-time passwords needs one. Wrong codes count, and a code is used up.
func TestReauthenticateWithOTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u := w.otpAccounts()["user"].enroll()
	w.now = w.now.Add(time.Minute)
	try := func(change object) *response {
		return w.do("POST", "/auth/reauthenticate", u.token, altered(object{"password": password}, change))
	}
	try(nil).refused(app.CodeOTPRequired)
	try(object{"otp": u.wrong()}).refused(app.CodeInvalidCredentials)
	code := w.code(u.secret, 0)
	try(object{"password": "wrong", "otp": code}).refused(app.CodeInvalidCredentials)
	try(object{"otp": code}).ok(200, nil)
	try(object{"otp": code}).refused(app.CodeInvalidCredentials)
	try(object{"otp": u.recovery[0]}).ok(200, nil)
	try(object{"otp": 7}).refused(app.CodeValidationFailed, "otp")
	try(object{"password": ""}).refused(app.CodeValidationFailed, "password")
}

// The operation counts against the budgets of the account and of the session, and not against that of the address.
func TestReauthenticationsAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.accounts()["user"]
	s := w.serverOn(w.db.DB, func(c *Config) { c.RateLimit, c.RateWindow = 1, time.Hour })
	try := func(token string) *response {
		return w.doOn(s, "POST", "/auth/reauthenticate", token, object{"password": "wrong"}, from("203.0.113.7"))
	}
	first := a.session()
	try(first).refused(app.CodeInvalidCredentials)
	try(first).refused(app.CodeRateLimited) // the session's
	for range accountFactor - 1 {
		try(a.session()).refused(app.CodeInvalidCredentials)
	}
	try(a.session()).refused(app.CodeRateLimited)                                                   // the account's
	w.try(s, "nobody@example.com", "203.0.113.7").refused(app.CodeInvalidCredentials)               // not counted
	w.doOn(s, "POST", "/auth/login", "", a.login, from("203.0.113.9")).refused(app.CodeRateLimited) // the account
}

// A password that was checked before it changed proves nothing after the change.
func TestReauthenticationBegunBeforeAChangeOfThePassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.accounts()["user"]
	token := a.logIn(password)
	first := true
	s := w.serverOn(w.db.DB, func(*Config) {})
	s.passwords.runs = func() {
		if first {
			first = false
			w.do("POST", "/auth/password", token, newPasswordBody(password, otherPassword)).ok(200, nil)
		}
	}
	w.doOn(s, "POST", "/auth/reauthenticate", token, object{"password": password}).
		refused(app.CodeInvalidCredentials)
}
