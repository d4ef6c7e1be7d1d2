package api

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// bucketsAt returns buckets for 8 requests, 4 a second, of a credential, and for 20, 10 a second, of a website, with
// their clock.
func bucketsAt(now time.Time) (*buckets, *time.Time) {
	b := newBuckets(Config{
		APIRate: 4, APIBurst: 8, WebsiteRate: 10, WebsiteBurst: 20, Now: func() time.Time { return now },
	})
	return b, &now
}

// Requests whose times are out of order gain nothing: in any order, 10 s admit the burst and 10 s of the rate.
func TestBucketsAreExactOutOfOrder(t *testing.T) {
	t.Parallel()
	b, now := bucketsAt(noon)
	admitted := 0
	for i := range 1000 {
		// Each second request was delayed by 2 s, which would fill the bucket again.
		*now = noon.Add(time.Duration(i)*10*time.Millisecond - time.Duration(i%2)*2*time.Second)
		if b.take("a", "").wait == 0 {
			admitted++
		}
	}
	if want := 8 + 4*10; admitted > want || admitted < want-1 {
		t.Errorf("admitted requests in 10 s: got %d, want %d", admitted, want)
	}
}

// A website has one budget for all its credentials. A request that the bucket of its credential refuses takes nothing
// from it, and a request that the website's bucket refuses takes nothing from the credential's.
func TestWebsitesHaveBuckets(t *testing.T) {
	t.Parallel()
	b, now := bucketsAt(noon)
	for i := range 100 { // only 8 are admitted
		b.take("greedy", "one")
		if f := b.take("other", "two"); i == 0 && f.of != &b.credentials {
			t.Errorf("first request: got the bucket %s, want that of the credential", f.of.name)
		}
	}
	admitted := 0
	for i := range 100 {
		if b.take(fmt.Sprint("key ", i), "one").wait == 0 {
			admitted++
		}
	}
	if admitted != 20-8 {
		t.Errorf("requests of other keys of the website: got %d admitted, want %d", admitted, 20-8)
	}
	for range 3 {
		f := b.take("fresh", "one")
		if f.wait != 100*time.Millisecond || f.header() != `"website";r=0;t=2` ||
			f.of.policy() != `"website";q=20;w=2` {
			t.Errorf("request of an empty website: got %v, %s and %s, want its bucket and 100ms", f.wait, f.header(),
				f.of.policy())
		}
	}
	if f := b.take("another", "three"); f.wait != 0 {
		t.Errorf("request of another website: got %v to wait, want none", f.wait)
	}
	*now = now.Add(time.Second)
	for i := range 8 { // the credential lost no token to the refused requests
		if f := b.take("fresh", "one"); f.wait != 0 {
			t.Errorf("request %d a second later: got %v to wait, want none", i, f.wait)
		}
	}
}

// A bucket admits its burst, then one request per interval. A refused request takes no token, and a request after the
// stated wait is admitted.
func TestBuckets(t *testing.T) {
	t.Parallel()
	b, now := bucketsAt(noon)
	fill := b.credentials.fill
	if policy := b.credentials.policy(); fill != 2*time.Second || policy != `"credential";q=8;w=2` {
		t.Errorf("bucket of 8 at 4 a second: got %v and %s, want 2s and q=8, w=2", fill, policy)
	}
	for i := range 8 {
		if f := b.take("a", ""); f.wait != 0 || f.tokens != 7-i {
			t.Errorf("request %d: got %+v, want %d tokens", i+1, f, 7-i)
		}
	}
	for range 3 {
		if f := b.take("a", ""); f != (filling{&b.credentials, 0, 2 * time.Second, 250 * time.Millisecond}) {
			t.Errorf("request of an empty bucket: got %+v, want 250ms to wait", f)
		}
	}
	if f := b.take("b", ""); f.wait != 0 || f.header() != `"credential";r=7;t=1` {
		t.Errorf("request of another credential: got %+v, want no wait and 7 remaining", f)
	}
	*now = now.Add(249 * time.Millisecond)
	if f := b.take("a", ""); f.wait <= 0 || f.wait > time.Millisecond {
		t.Errorf("request 1 ms too early: got %+v, want 1ms to wait", f)
	}
	*now = now.Add(time.Millisecond)
	if f := b.take("a", ""); f.wait != 0 {
		t.Errorf("request after the wait: got %+v, want none", f)
	}
	// The bucket survives two generations until it is full.
	for range 20 {
		*now = now.Add(fill / 4)
		b.take("b", "")
		b.take("a", "")
		if f := b.take("a", ""); f.wait != 0 {
			t.Fatalf("2 requests every half a second: got %+v, want no wait", f)
		}
		if f := b.take("a", ""); f.wait == 0 {
			t.Fatal("third request in half a second: got no wait; the bucket was forgotten")
		}
	}
}

// The memory of buckets is bounded.
func TestBucketsAreForgotten(t *testing.T) {
	t.Parallel()
	b, now := bucketsAt(noon)
	of := &b.credentials
	for i := range 1000 {
		*now = noon.Add(time.Duration(i) * of.fill / 100)
		b.take(fmt.Sprint(i), "")
	}
	if n := len(of.newer) + len(of.previous); n > 200 {
		t.Errorf("buckets of 100 credentials in each fill time: got %d, want at most 200", n)
	}
	*now = noon.Add(time.Hour)
	for i := range 3 * maxBuckets {
		b.take(fmt.Sprint(i), "")
	}
	if n := len(of.newer) + len(of.previous); n > 2*maxBuckets {
		t.Errorf("buckets: got %d, want at most %d", n, 2*maxBuckets)
	}
}

// Each credential has its own bucket, which refused credentials do not touch. Responses describe it.
func TestCredentialsHaveBuckets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.serverOn(w.db.DB, func(c *Config) { c.RateLimit, c.APIRate, c.APIBurst = 1000, 1, 3 })
	key, customer := w.key("own", app.ScopeReadOrders), w.addCustomer("own", "ada@example.com")
	for name, token := range map[string]string{
		"user": w.tokens["STAFF"], "key": key, "customer": customer.AccessToken,
	} {
		w.run(name, func(t *testing.T) {
			for i := range 3 {
				path := []string{"/orders", "/customers/none", "/auth/me"}[i%2] // also requests that are refused later
				a := w.doOn(s, "GET", path, token, nil)
				want := fmt.Sprintf(`"credential";r=%d;t=%d`, 2-i, i+1)
				if got := a.Header().Get("RateLimit"); got != want {
					t.Errorf("RateLimit of request %d of the %s: got %s, want %s", i+1, name, got, want)
				}
				if got, want := a.Header().Get("RateLimit-Policy"), `"credential";q=3;w=3`; got != want {
					t.Errorf("RateLimit-Policy: got %s, want %s", got, want)
				}
			}
			a := w.doOn(s, "GET", "/orders", token, nil)
			if got := a.retryAfter(); got != time.Second {
				t.Errorf("Retry-After of the %s: got %v, want 1s", name, got)
			}
			if got, want := a.Header().Get("RateLimit"), `"credential";r=0;t=3`; got != want {
				t.Errorf("RateLimit of a refused request: got %s, want %s", got, want)
			}
			// The budget of the session is separate.
			switch name {
			case "user":
				w.doOn(s, "POST", "/auth/switch-store", token, object{"storeId": w.stores["sibling"].id}).ok(200, nil)
			case "key": // a key has no session: its requests for sessions count as all others
				w.doOn(s, "GET", "/auth/sessions", token, nil).refused(app.CodeRateLimited)
			}
		})
	}
	w.doOn(s, "GET", "/orders", w.tokens["MANAGER"], nil).ok(200, nil)
	w.doOn(s, "GET", "/orders", "x", nil).refused(app.CodeTokenInvalid)
	if a := w.doOn(s, "POST", "/auth/login", "", credentials("a@example.com", "x")); a.Header().Get("RateLimit") != "" {
		t.Errorf("RateLimit without a credential: got %s, want none", a.Header().Get("RateLimit"))
	}
	w.now = w.now.Add(time.Second)
	w.doOn(s, "GET", "/orders", key, nil).ok(200, nil)
	w.doOn(s, "GET", "/orders", key, nil).refused(app.CodeRateLimited)
}

// Every route that reads an access token has a limit of its session or of its credential.
func TestEveryCredentialIsLimited(t *testing.T) {
	t.Parallel()
	for _, rt := range routes() {
		if rt.byAccessToken() && rt.byCredential() == rt.Limit.session {
			t.Errorf("%s %s: limited by credential %t, by session %t; want one of them", rt.Method, rt.Path,
				rt.byCredential(), rt.Limit.session)
		}
		if rt.guarded() && rt.Method != http.MethodGet && !rt.Limit.any() {
			t.Errorf("%s %s: got no exact budget, want one of the session or of the address", rt.Method, rt.Path)
		}
		for _, q := range rt.Limit.quotas {
			if q.name == "" || (q.most > 0) == (q.factor > 0) ||
				q.window != rt.Limit.quotas[0].window || inWords[q.window] == "" {
				t.Errorf("%s %s: quota %+v, want a number and the window of the other quotas", rt.Method, rt.Path, q)
			}
		}
	}
}
