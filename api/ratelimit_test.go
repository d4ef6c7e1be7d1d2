package api

import (
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// strict returns another server with the default limit. Its window is an hour, longer than any test runs.
func (w *world) strict() *Server {
	return w.serverOn(w.db.DB, func(c *Config) { c.RateLimit, c.RateWindow = 10, time.Hour })
}

func from(address string) func(*http.Request) {
	return func(r *http.Request) { r.RemoteAddr = netip.AddrPortFrom(netip.MustParseAddr(address), 4711).String() }
}

// try logs in with a wrong password.
func (w *world) try(s *Server, email, address string, change ...func(*http.Request)) *response {
	w.Helper()
	return w.doOn(s, "POST", "/auth/login", "", credentials(email, "wrong"), append(change, from(address))...)
}

// exhaust uses up the budget of an address with logins to different accounts.
func (w *world) exhaust(s *Server, address string) {
	w.Helper()
	for i := range 10 {
		w.try(s, fmt.Sprintf("nobody%d@example.com", i), address).refused(app.CodeInvalidCredentials)
	}
}

// later moves all hits of the budgets into the past.
func (w *world) later(d time.Duration) {
	w.Helper()
	_, err := w.db.System().DB.ExecContext(w.Context(), `UPDATE rate_limits
		SET hits = array(SELECT hit - $1 * interval '1 microsecond' FROM unnest(hits) AS hit),
			expires_at = expires_at - $1 * interval '1 microsecond'`, d.Microseconds())
	w.must(err)
}

// untilAllowed returns the time until the only exhausted budget has room, for a window of an hour.
func (w *world) untilAllowed() time.Duration {
	w.Helper()
	var microseconds int64
	w.must(w.db.System().DB.QueryRowContext(w.Context(), `
		SELECT (extract(epoch FROM hits[1] + interval '1 hour' - clock_timestamp()) * 1000000)::bigint
		FROM rate_limits WHERE cardinality(hits) = 10`).Scan(&microseconds))
	return time.Duration(microseconds) * time.Microsecond
}

func (a *response) retryAfter() time.Duration {
	a.t.Helper()
	seconds, err := strconv.Atoi(a.refused(app.CodeRateLimited).Header().Get("Retry-After"))
	if err != nil || seconds < 1 {
		a.t.Fatalf("%s: Retry-After: got %q, want a positive number of seconds", a.what, a.Header().Get("Retry-After"))
	}
	return time.Duration(seconds) * time.Second
}

// TestLoginRoutesAreLimited checks that each route under /auth and /customer-auth names its budgets.
func TestLoginRoutesAreLimited(t *testing.T) {
	t.Parallel()
	for _, rt := range routes() {
		lists := strings.HasSuffix(rt.Path, "/sessions") // a read that is counted
		if want := rt.guarded() && (rt.Method != http.MethodGet || lists); rt.Limit.any() != want {
			t.Errorf("%s %s: got limit %+v, want one: %t", rt.Method, rt.Path, rt.Limit, want)
		}
		if rt.Limit.cookieless && (rt.Cookie == "" || !rt.Limit.session) ||
			rt.Limit.account != nil && !rt.Limit.address {
			t.Errorf("%s %s: got limit %+v with cookie %q, want cookieless only with a session, "+
				"account only with address",
				rt.Method, rt.Path, rt.Limit, rt.Cookie)
		}
	}
}

// A request after Retry-After succeeds. An earlier request is refused with the remaining time in whole seconds. Refused
// requests do not count.
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
		t.Errorf("hashes: got %d, want 10", hashed.Load())
	}
	wait := w.try(s, "ada@example.com", "203.0.113.7").retryAfter()
	if wait > time.Hour || wait < 59*time.Minute {
		t.Errorf("Retry-After: got %v, want about an hour", wait)
	}
	w.later(wait - time.Minute) // the minute is for a slow machine
	atMost := w.untilAllowed()
	wait = w.try(s, "ada@example.com", "203.0.113.7").retryAfter()
	if atLeast := w.untilAllowed(); wait < atLeast || wait >= atMost+time.Second {
		t.Errorf("Retry-After: got %v, want between %v and %v", wait, atLeast, atMost)
	}
	w.later(wait)
	w.doOn(s, "POST", "/auth/login", "", credentials("ada@example.com", password), from("203.0.113.7")).ok(200, nil)
}

func TestReplicasShareTheLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	replicas := []*Server{w.strict(), w.strict()}
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
		t.Errorf("logins: got %d passed and %d refused, want 10 and 90", passed.Load(), refused.Load())
	}
}

// All addresses of an IPv6 /48 have ten times the budget of an address. Refused requests do not count, and other
// networks are not affected.
func TestNetworksAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.strict()
	try := func(address string) *response { return w.try(s, "nobody"+address+"@example.com", address) }
	for i := range 10 {
		address := fmt.Sprintf("2001:db8:0:%x::1", i)
		w.exhaust(s, address)
		try(address).refused(app.CodeRateLimited)
	}
	for address, want := range map[string]app.Code{
		"2001:db8:0:a::1": app.CodeRateLimited,
		"2001:db8:1::1":   app.CodeInvalidCredentials,
		"203.0.113.7":     app.CodeInvalidCredentials,
	} {
		try(address).refused(want)
	}
	unknown := "svc_live_sk_" + strings.Repeat("0f", 16)
	w.doOn(s, "GET", "/orders", unknown, nil, from("2001:db8:0:b::1")).refused(app.CodeRateLimited)
}

// The budget of an address belongs to the client: trusted proxies name it, and an IPv6 network is one client.
func TestClientOfTheBudget(t *testing.T) {
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
		"the same":                 {"203.0.113.7", nil, app.CodeRateLimited},
		"the same as IPv4 in IPv6": {"::ffff:203.0.113.7", nil, app.CodeRateLimited},
		"a forged X-Forwarded-For": {
			"203.0.113.7", []func(*http.Request){forwarded("198.51.100.1")}, app.CodeRateLimited,
		},
		"the same by a proxy": {
			"10.0.0.1", []func(*http.Request){forwarded("203.0.113.7")}, app.CodeRateLimited,
		},
		"forged in front of the proxy's": {
			"10.0.0.1", []func(*http.Request){forwarded("198.51.100.1, 203.0.113.7")}, app.CodeRateLimited,
		},
		"another by the proxy": {
			"10.0.0.1", []func(*http.Request){forwarded("198.51.100.1")}, app.CodeInvalidCredentials,
		},
		"the neighbour":                   {"203.0.113.8", nil, app.CodeInvalidCredentials},
		"another address of the same /64": {"2001:db8:0:1:ffff::2", nil, app.CodeRateLimited},
		"the neighbouring /64":            {"2001:db8:0:2::1", nil, app.CodeInvalidCredentials},
	} {
		w.run(name, func(t *testing.T) {
			w.try(s, "somebody@example.com", c.peer, c.change...).refused(c.want)
		})
	}
	// Requests without this limit are still accepted.
	w.doOn(s, "GET", "/auth/me", w.tokens["OWNER"], nil, from("203.0.113.7")).ok(200, nil)
	w.doOn(s, "GET", "/products", w.tokens["OWNER"], nil, from("203.0.113.7")).ok(200, nil)
}

// The budget of an account counts 100 logins from all addresses and in all spellings of the email.
func TestAccountsHaveABudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.strict()
	for i := range 100 {
		email := []string{"ada@example.com", "ADA@example.com"}[i%2]
		w.try(s, email, fmt.Sprintf("203.0.113.%d", i)).refused(app.CodeInvalidCredentials)
	}
	w.try(s, "Ada@Example.com", "203.0.113.200").refused(app.CodeRateLimited)
	w.doOn(s, "POST", "/auth/login", "", `{"password":"x","email":"\u0061da@example.com"}`, from("203.0.113.200")).
		refused(app.CodeRateLimited)
	w.try(s, "bob@example.com", "203.0.113.200").refused(app.CodeInvalidCredentials)
	// Refused logins do not count against the address: nine are left.
	for i := range 9 {
		w.try(s, fmt.Sprintf("carol%d@example.com", i), "203.0.113.200").refused(app.CodeInvalidCredentials)
	}
	w.try(s, "dave@example.com", "203.0.113.200").refused(app.CodeRateLimited)

	var shorter int
	w.must(w.db.System().DB.QueryRowContext(t.Context(),
		"SELECT count(*) FROM rate_limits WHERE length(key) <> 32").Scan(&shorter))
	if shorter != 0 {
		t.Errorf("keys without the length of a MAC: got %d, want 0", shorter)
	}
}

// Each account of each store and realm has its own budget. A body without an account counts against the address only.
func TestAccountOfTheBudget(t *testing.T) {
	t.Parallel()
	account := func(operation, body string) string {
		_, path, _ := strings.Cut(operation, " ")
		c := &call{route: routeOf(http.MethodPost, path), body: []byte(body)}
		whose, named := c.account(c.route.Limit.account)
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
			t.Errorf("%s %s: got account %q, want %q", c.route, c.body, got, c.want)
		}
	}
}

// Webhook tests have budgets of the webhook and of the store, which tests of missing webhooks and of outsiders do not
// touch.
func TestWebhookTestsAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"].id
	test := func(webhook app.SubscriptionID, token string) *response {
		return w.do("POST", "/webhooks/"+string(webhook)+"/test", token, nil)
	}
	first := w.stores["own"].webhook.ID
	for range 7 {
		test(app.NewID[app.SubscriptionID](noon), w.tokens["OWNER"]).refused(app.CodeNotFound)
		test(w.stores["foreign"].webhook.ID, w.tokens["OWNER"]).refused(app.CodeNotFound)
		test(first, w.tokens["STAFF"]).refused(app.CodeInsufficientRole)
	}
	for range 6 {
		test(first, w.tokens["OWNER"]).ok(200, nil)
	}
	if wait := test(first, w.tokens["ADMIN"]).retryAfter(); wait > time.Minute {
		t.Errorf("Retry-After of the webhook: got %v, want at most a minute", wait)
	}
	for range 4 {
		id := w.addWebhook(own)
		for range 6 {
			test(id, w.tokens["OWNER"]).ok(200, nil)
		}
	}
	last := w.addWebhook(own)
	test(last, w.tokens["OWNER"]).refused(app.CodeRateLimited)
	test(w.stores["foreign"].webhook.ID, w.tokens["FOREIGN"]).ok(200, nil)
	w.later(time.Minute)
	test(last, w.tokens["OWNER"]).ok(200, nil)
}
