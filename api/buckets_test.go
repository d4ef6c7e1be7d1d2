package api

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// A bucket admits its burst, then one request per interval. A refused request takes no token, and a request after the
// stated wait is admitted.
func TestBuckets(t *testing.T) {
	t.Parallel()
	b := newBuckets(4, 8)
	if b.fill != 2*time.Second || b.policy != `"credential";q=8;w=2` {
		t.Errorf("bucket of 8 at 4 a second: got %v and %s, want 2s and q=8, w=2", b.fill, b.policy)
	}
	now := noon
	for i := range 8 {
		if f := b.take(now, "a"); f.wait != 0 || f.tokens != 7-i {
			t.Errorf("request %d: got %+v, want %d tokens", i+1, f, 7-i)
		}
	}
	for range 3 {
		if f := b.take(now, "a"); f != (filling{0, 2 * time.Second, 250 * time.Millisecond}) {
			t.Errorf("request of an empty bucket: got %+v, want 250ms to wait", f)
		}
	}
	if f := b.take(now, "b"); f.wait != 0 || f.header() != `"credential";r=7;t=1` {
		t.Errorf("request of another credential: got %+v, want no wait and 7 remaining", f)
	}
	now = now.Add(249 * time.Millisecond)
	if f := b.take(now, "a"); f.wait <= 0 || f.wait > time.Millisecond {
		t.Errorf("request 1 ms too early: got %+v, want 1ms to wait", f)
	}
	now = now.Add(time.Millisecond)
	if f := b.take(now, "a"); f.wait != 0 {
		t.Errorf("request after the wait: got %+v, want none", f)
	}
	// The bucket survives two generations until it is full.
	for range 20 {
		now = now.Add(b.fill / 4)
		b.take(now, "b")
		b.take(now, "a")
		if f := b.take(now, "a"); f.wait != 0 {
			t.Fatalf("2 requests every half a second: got %+v, want no wait", f)
		}
		if f := b.take(now, "a"); f.wait == 0 {
			t.Fatal("third request in half a second: got no wait; the bucket was forgotten")
		}
	}
}

// The memory of buckets is bounded.
func TestBucketsAreForgotten(t *testing.T) {
	t.Parallel()
	b := newBuckets(4, 8)
	for i := range 1000 {
		b.take(noon.Add(time.Duration(i)*b.fill/100), fmt.Sprint(i))
	}
	if n := len(b.newer) + len(b.previous); n > 200 {
		t.Errorf("buckets of 100 credentials in each fill time: got %d, want at most 200", n)
	}
	for i := range 3 * maxBuckets {
		b.take(noon.Add(time.Hour), fmt.Sprint(i))
	}
	if n := len(b.newer) + len(b.previous); n > 2*maxBuckets {
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
				if got, want := a.Header().Get("RateLimit"), fmt.Sprintf(`"credential";r=%d;t=%d`, 2-i, i+1); got != want {
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
