package api

import (
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// TestLoginFlood sends five hundred concurrent logins. One hash per processor runs, as many logins wait as the queue
// holds, and the others are refused. Requests of logged-in users are not delayed.
func TestLoginFlood(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.server.passwords
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
	rejected := make(chan struct{}, logins) // because the queue is full
	var checked, unavailable atomic.Int64
	var wait sync.WaitGroup
	for i := range logins {
		wait.Go(func() {
			switch a := w.do("POST", "/auth/login", "",
				credentials(fmt.Sprintf("nobody%d@example.com", i), "x")); a.Code {
			case http.StatusUnauthorized:
				checked.Add(1)
			case http.StatusServiceUnavailable:
				if a.refused(app.CodeUnavailable).Header().Get("Retry-After") != "5" {
					t.Errorf("Retry-After: got %q, want 5", a.Header().Get("Retry-After"))
				}
				unavailable.Add(1)
				rejected <- struct{}{}
			default:
				t.Errorf("login: got %d %s, want 401 or 503", a.Code, a.Body)
			}
		})
	}
	places := cap(p.running) + cap(p.waiting)
	for range logins - places { // the queue is full and does not move
		<-rejected
	}
	w.do("GET", "/auth/me", w.tokens["OWNER"], nil).ok(200, nil)
	w.do("GET", "/products", w.tokens["OWNER"], nil).ok(200, nil)
	close(release)
	wait.Wait()
	if checked.Load()+unavailable.Load() != logins || int(checked.Load()) < cap(p.running) {
		t.Errorf("logins: got %d checked and %d unavailable, want %d, of them at least %d checked", checked.Load(),
			unavailable.Load(), logins, cap(p.running))
	}
	if want := runtime.GOMAXPROCS(0); int(most.Load()) != want {
		t.Errorf("concurrent hashes: got %d, want %d", most.Load(), want)
	}
	w.do("POST", "/auth/login", "", credentials("nobody@example.com", "x")).refused(app.CodeInvalidCredentials)
}
