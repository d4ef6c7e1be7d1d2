package api

import (
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// TestLoginFlood: of five hundred logins at once as many hash as there are processors, so
// many wait as the queue holds, the others are sent away; and whoever is logged in does not
// notice.
func TestLoginFlood(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.server.timeout = time.Minute // on a slow machine the database is a queue of its own
	p := w.server.passwords
	p.dummy = weakHash(t)
	var running, most atomic.Int64
	release := make(chan struct{})
	p.runs = func() {
		now := running.Add(1)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
		}
		<-release
		running.Add(-1)
	}
	const logins = 500
	turned := make(chan struct{}, logins) // away
	var refused, away atomic.Int64
	var wait sync.WaitGroup
	for i := range logins {
		wait.Go(func() {
			switch a := w.do("POST", "/auth/login", "", credentials(fmt.Sprintf("nobody%d@example.com", i), "x")); a.Code {
			case http.StatusUnauthorized:
				refused.Add(1)
			case http.StatusServiceUnavailable:
				if a.refused(app.CodeUnavailable).Header().Get("Retry-After") != "5" {
					t.Errorf("Retry-After is %q", a.Header().Get("Retry-After"))
				}
				away.Add(1)
				turned <- struct{}{}
			default:
				t.Errorf("%d: %s", a.Code, a.Body)
			}
		})
	}
	places := cap(p.running) + cap(p.waiting)
	for range logins - places { // the queue is full, and nobody's turn comes
		<-turned
	}
	w.do("GET", "/auth/me", w.tokens["OWNER"], nil).ok(200, nil)
	w.do("GET", "/products", w.tokens["OWNER"], nil).ok(200, nil)
	close(release)
	wait.Wait()
	if refused.Load()+away.Load() != logins || int(refused.Load()) < cap(p.running) {
		t.Errorf("%d were answered, %d sent away", refused.Load(), away.Load())
	}
	if int(most.Load()) != runtime.GOMAXPROCS(0) {
		t.Errorf("%d hashed at once, on %d processors", most.Load(), runtime.GOMAXPROCS(0))
	}
	w.do("POST", "/auth/login", "", credentials("nobody@example.com", "x")).refused(app.CodeInvalidCredentials)
}
