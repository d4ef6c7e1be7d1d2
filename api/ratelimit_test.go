package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"github.com/comanda-dev/comanda/app"
)

// strict makes another server, with the limit that the contract has and an hour in which it
// holds, so that what a test takes does not matter.
func (w *world) strict() *Server {
	return w.serverOn(w.db.DB, func(c *Config) { c.RateLimit, c.RateWindow = 10, time.Hour })
}

func from(address string) func(*http.Request) {
	return func(r *http.Request) { r.RemoteAddr = netip.AddrPortFrom(netip.MustParseAddr(address), 4711).String() }
}

// try logs in with a wrong password.
func (w *world) try(s *Server, email, address string, change ...func(*http.Request)) *answer {
	w.Helper()
	return w.doOn(s, "POST", "/auth/login", "", credentials(email, "wrong"), append(change, from(address))...)
}

// exhaust uses up the budget of an address, with another account each time.
func (w *world) exhaust(s *Server, address string) {
	w.Helper()
	for i := range 10 {
		w.try(s, fmt.Sprintf("nobody%d@example.com", i), address).refused(app.CodeInvalidCredentials)
	}
}

// later lets time go by for all budgets.
func (w *world) later(d time.Duration) {
	w.Helper()
	_, err := w.db.System().DB.ExecContext(w.Context(), `UPDATE rate_limits
		SET hits = array(SELECT hit - $1 * interval '1 microsecond' FROM unnest(hits) AS hit), expires_at = expires_at - $1 * interval '1 microsecond'`, d.Microseconds())
	w.must(err)
}

// untilRoom returns how long the only used up budget stays so, where hits hold for an hour.
func (w *world) untilRoom() time.Duration {
	w.Helper()
	var microseconds int64
	w.must(w.db.System().DB.QueryRowContext(w.Context(), `SELECT (extract(epoch FROM hits[1] + interval '1 hour' - clock_timestamp()) * 1000000)::bigint
		FROM rate_limits WHERE cardinality(hits) = 10`).Scan(&microseconds))
	return time.Duration(microseconds) * time.Microsecond
}

func (a *answer) retryAfter() time.Duration {
	a.t.Helper()
	seconds, err := strconv.Atoi(a.refused(app.CodeRateLimited).Header().Get("Retry-After"))
	if err != nil || seconds < 1 {
		a.t.Fatalf("%s: Retry-After is %q", a.what, a.Header().Get("Retry-After"))
	}
	return time.Duration(seconds) * time.Second
}

// TestEveryRouteToLogInIsLimited: whoever adds a route under /auth or /customer-auth says
// which budgets it is counted against.
func TestEveryRouteToLogInIsLimited(t *testing.T) {
	t.Parallel()
	for _, rt := range routes() {
		_, known := limited[rt.method+" "+rt.path]
		want := (strings.HasPrefix(rt.path, "/auth/") || strings.HasPrefix(rt.path, "/customer-auth/")) && rt.path != "/auth/me" && rt.path != "/auth/stores"
		if known != want {
			t.Errorf("%s %s: limited %v", rt.method, rt.path, known)
		}
	}
	for name, l := range limited {
		if !l.address && l.account == nil && !l.session || l.without != "" && !l.session {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

// TestRetryAfterIsExact: who obeys is let in, who comes early is not and is told the time
// that is left in whole seconds, and what was refused does not count.
func TestRetryAfterIsExact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withPassword("ada", nil, "own")
	s := w.strict()
	var hashed atomic.Int64
	s.passwords.runs = func() { hashed.Add(1) }
	w.exhaust(s, "203.0.113.7")
	for range 20 {
		w.try(s, "ada@example.com", "203.0.113.7").refused(app.CodeRateLimited)
	}
	if hashed.Load() != 10 {
		t.Errorf("the hash ran %d times", hashed.Load())
	}
	wait := w.try(s, "ada@example.com", "203.0.113.7").retryAfter()
	if wait > time.Hour || wait < 59*time.Minute {
		t.Errorf("Retry-After is %v", wait)
	}
	w.later(wait - time.Minute) // of which a slow machine may use up some
	atMost := w.untilRoom()
	wait = w.try(s, "ada@example.com", "203.0.113.7").retryAfter()
	if atLeast := w.untilRoom(); wait < atLeast || wait >= atMost+time.Second {
		t.Errorf("Retry-After is %v, there is room in %v to %v", wait, atLeast, atMost)
	}
	w.later(wait)
	w.doOn(s, "POST", "/auth/login", "", credentials("ada@example.com", password), from("203.0.113.7")).ok(200, nil)
}

func TestReplicasShareTheLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	replicas := []*Server{w.strict(), w.strict()}
	for _, s := range replicas {
		s.passwords.dummy = weakHash(t)
	}
	var passed, refused atomic.Int64
	var wait sync.WaitGroup
	for i := range 100 {
		wait.Go(func() {
			switch a := w.try(replicas[i%2], fmt.Sprintf("nobody%d@example.com", i), "203.0.113.7"); a.Code {
			case http.StatusUnauthorized:
				passed.Add(1)
			case http.StatusTooManyRequests:
				refused.Add(1)
			}
		})
	}
	wait.Wait()
	if passed.Load() != 10 || refused.Load() != 90 {
		t.Errorf("%d passed, %d were refused", passed.Load(), refused.Load())
	}
}

// TestWhoIsOneClient: the address that counts is the client's as far as it can be known.
func TestWhoIsOneClient(t *testing.T) {
	t.Parallel()
	forwarded := func(address string) func(*http.Request) { return header("X-Forwarded-For", address) }
	w := newWorld(t)
	s := w.strict()
	w.exhaust(s, "203.0.113.7")
	w.exhaust(s, "2001:db8:0:1::1")
	for name, c := range map[string]struct {
		peer   string
		change []func(*http.Request)
		want   app.Code
	}{
		"the same":                        {"203.0.113.7", nil, app.CodeRateLimited},
		"the same as IPv4 in IPv6":        {"::ffff:203.0.113.7", nil, app.CodeRateLimited},
		"a forged X-Forwarded-For":        {"203.0.113.7", []func(*http.Request){forwarded("198.51.100.1")}, app.CodeRateLimited},
		"the same by a proxy":             {"10.0.0.1", []func(*http.Request){forwarded("203.0.113.7")}, app.CodeRateLimited},
		"forged in front of the proxy's":  {"10.0.0.1", []func(*http.Request){forwarded("198.51.100.1, 203.0.113.7")}, app.CodeRateLimited},
		"another by the proxy":            {"10.0.0.1", []func(*http.Request){forwarded("198.51.100.1")}, app.CodeInvalidCredentials},
		"the neighbour":                   {"203.0.113.8", nil, app.CodeInvalidCredentials},
		"another address of the same /64": {"2001:db8:0:1:ffff::2", nil, app.CodeRateLimited},
		"the neighbouring /64":            {"2001:db8:0:2::1", nil, app.CodeInvalidCredentials},
	} {
		a := w.try(s, "somebody@example.com", c.peer, c.change...)
		a.what = name
		a.refused(c.want)
	}
	// What is not limited goes on.
	w.doOn(s, "GET", "/auth/me", w.tokens["OWNER"], nil, from("203.0.113.7")).ok(200, nil)
	w.doOn(s, "GET", "/products", w.tokens["OWNER"], nil, from("203.0.113.7")).ok(200, nil)
}

// TestAccountsHaveABudget: a hundred tries for one account, from wherever they come and
// however the address is written.
func TestAccountsHaveABudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.strict()
	s.passwords.dummy = weakHash(t)
	for i := range 100 {
		email := []string{"ada@example.com", "ADA@example.com"}[i%2]
		w.try(s, email, fmt.Sprintf("203.0.113.%d", i)).refused(app.CodeInvalidCredentials)
	}
	w.try(s, "Ada@Example.com", "203.0.113.200").refused(app.CodeRateLimited)
	w.doOn(s, "POST", "/auth/login", "", `{"password":"x","email":"\u0061da@example.com"}`, from("203.0.113.200")).refused(app.CodeRateLimited)
	w.try(s, "bob@example.com", "203.0.113.200").refused(app.CodeInvalidCredentials)
	// The refusals were not counted against the address: nine tries are left.
	for i := range 9 {
		w.try(s, fmt.Sprintf("carol%d@example.com", i), "203.0.113.200").refused(app.CodeInvalidCredentials)
	}
	w.try(s, "dave@example.com", "203.0.113.200").refused(app.CodeRateLimited)

	var shorter int
	w.must(w.db.System().DB.QueryRowContext(t.Context(), "SELECT count(*) FROM rate_limits WHERE length(key) <> 32").Scan(&shorter))
	if shorter != 0 {
		t.Errorf("%d keys are no MACs", shorter)
	}
}

// TestWhichAccountIsMeant: accounts of stores and realms have budgets of their
// own, and a body that names no account is counted against the address alone.
func TestWhichAccountIsMeant(t *testing.T) {
	t.Parallel()
	account := func(operation, body string) string {
		_, path, _ := strings.Cut(operation, " ")
		c := &call{route: &route{method: "POST", path: path}, body: []byte(body)}
		whose, named := c.account(c.route.limits().account)
		if !named {
			return ""
		}
		return strings.Join(whose, " ")
	}
	for _, c := range []struct{ route, body, want string }{
		{"POST /auth/login", `{"email":"Ada@Example.com","password":"x"}`, "account auth ada@example.com"},
		{"POST /auth/login", `{"password":"x"}`, ""},
		{"POST /auth/login", `{"email":null}`, ""},
		{"POST /auth/login", `{"email":1}`, ""},
		{"POST /auth/login", `[]`, ""},
		{"POST /auth/refresh", `{"email":"a"}`, ""},
		{"POST /auth/accept-invite", `{"token":"inv","password":"x"}`, "account auth inv"},
		{"POST /customer-auth/login", `{"email":"ADA","storeId":"sto_A"}`, "account customer-auth sto_A ada"},
		{"POST /customer-auth/register", `{"email":"ada","storeId":"sto_A"}`, "account customer-auth sto_A ada"},
		{"POST /customer-auth/login", `{"email":"ADA"}`, ""},
		{"POST /customer-auth/social", `{"token":"eyJ","storeId":"sto_A"}`, "account customer-auth sto_A eyJ"},
	} {
		if got := account(c.route, c.body); got != c.want {
			t.Errorf("%s %s: %q instead of %q", c.route, c.body, got, c.want)
		}
	}
}

// TestSessionsHaveABudget: one for refresh, logout and switch-store together, counted right
// after the credential.
func TestSessionsHaveABudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.strict()
	table := []route{{
		method: "POST", path: "/auth/refresh", permission: public, status: 200,
		endpoint: handle(func(s *Server, ctx context.Context, c *call, _ noIn) (noIn, error) {
			return noIn{}, s.limitSession(ctx, c, app.SessionID(c.request.Header.Get("Session")))
		}),
	}}
	for _, path := range []string{"/auth/logout", "/auth/switch-store"} {
		table = append(table, route{
			method: "POST", path: path, permission: app.ViewOwnTenantLogin, status: 200,
			endpoint: handle(func(*Server, context.Context, *call, noIn) (noIn, error) { return noIn{}, nil }),
		})
	}
	s.router = s.newRouter(table)
	send := func(path, token string, change ...func(*http.Request)) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", issuer+path, nil)
		r.Header.Set("Authorization", "Bearer "+token)
		for _, f := range change {
			f(r)
		}
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, r)
		return answer
	}
	expect := func(answer *httptest.ResponseRecorder, status int) {
		t.Helper()
		if answer.Code != status {
			t.Errorf("%d instead of %d: %s", answer.Code, status, answer.Body)
		}
	}
	owner := w.claims("OWNER", w.stores["own"].id)
	token, err := s.tokens.mint(w.now, owner)
	w.must(err)
	refresh := []func(*http.Request){header("Cookie", "refreshToken=x"), header("Session", string(owner.SessionID))}
	for i := range 10 {
		switch i % 3 {
		case 0:
			expect(send("/auth/switch-store", token), 200)
		case 1:
			expect(send("/auth/logout", token), 200)
		case 2:
			expect(send("/auth/refresh", "", refresh...), 200)
		}
	}
	expect(send("/auth/switch-store", token), 429)
	expect(send("/auth/logout", token), 429)
	expect(send("/auth/refresh", "", refresh...), 429)
	expect(send("/auth/switch-store", "x"), 401)
	expect(send("/auth/switch-store", w.tokens["ADMIN"]), 200)

	// Without the cookie there is no session; the address counts.
	for range 10 {
		expect(send("/auth/refresh", "", header("Session", string(app.NewID[app.SessionID](noon)))), 200)
	}
	expect(send("/auth/refresh", "", header("Session", "other")), 429)
	expect(send("/auth/refresh", "", header("Cookie", "refreshToken=x"), header("Session", "other")), 200)
}

// weakHash is one that is quickly computed.
func weakHash(t *testing.T) string {
	t.Helper()
	hash, err := argon2id.CreateHash("x", &argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32})
	if err != nil {
		t.Fatal(err)
	}
	return hash
}
