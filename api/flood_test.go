package api

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// TestLoginFlood sends five hundred concurrent logins that name no website. They take half of the slots to hash and of
// the queue, and the others are refused. Requests of logged-in users are not delayed.
func TestLoginFlood(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.server.passwords
	p.hashSlots = newHashSlots(4)
	p.maxWait = testTimeout
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
				if a.refused(app.CodeUnavailable).Header().Get("Retry-After") != "1" {
					t.Errorf("Retry-After: got %q, want 1", a.Header().Get("Retry-After"))
				}
				unavailable.Add(1)
				rejected <- struct{}{}
			default:
				t.Errorf("login: got %d %s, want 401 or 503", a.Code, a.Body)
			}
		})
	}
	const slots = 2
	places := slots + maxQueue/2
	for range logins - places { // the queue is full and does not move
		<-rejected
	}
	w.do("GET", "/auth/me", w.tokens["OWNER"], nil).ok(200, nil)
	w.do("GET", "/products", w.tokens["OWNER"], nil).ok(200, nil)
	close(release)
	wait.Wait()
	if checked.Load()+unavailable.Load() != logins || int(checked.Load()) < slots {
		t.Errorf("logins: got %d checked and %d unavailable, want %d, of them at least %d checked", checked.Load(),
			unavailable.Load(), logins, slots)
	}
	if most.Load() != slots {
		t.Errorf("concurrent hashes: got %d, want %d", most.Load(), slots)
	}
	w.do("POST", "/auth/login", "", credentials("nobody@example.com", "x")).refused(app.CodeInvalidCredentials)
}
