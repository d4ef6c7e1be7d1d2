package api

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

var long = flag.Bool("long", false, "run races for many more rounds")

// atOnce runs requests in parallel and returns their answers.
func (w *world) atOnce(requests ...*http.Request) []*httptest.ResponseRecorder {
	answers := make([]*httptest.ResponseRecorder, len(requests))
	start := make(chan struct{})
	var wait sync.WaitGroup
	for i, r := range requests {
		answers[i] = httptest.NewRecorder()
		wait.Go(func() {
			<-start
			w.server.ServeHTTP(answers[i], r)
		})
	}
	close(start)
	wait.Wait()
	return answers
}

func post(path, token, cookie string) *http.Request {
	r := httptest.NewRequest("POST", issuer+path, nil)
	r.Header.Set("Authorization", "Bearer "+token)
	withCookie(cookie)(r)
	return r
}

func rounds(few, many int) int {
	if *long {
		return many
	}
	return few
}

// TestParallelRefreshes shows one token fifty times at once. Taken literally, one request
// gets the successor and the others raise the alarm; within a leeway all get the same.
func TestParallelRefreshes(t *testing.T) {
	t.Parallel()
	const times = 50
	for name, leeway := range map[string]time.Duration{"no leeway": 0, "2 s": 2 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.server = w.serverOn(w.db.DB, func(c *Config) { c.RefreshLeeway = leeway })
			for range rounds(10, 200) {
				b := w.browse("ADMIN", "own")
				var requests []*http.Request
				for range times {
					requests = append(requests, post("/auth/refresh", "", b.cookie))
				}
				successors, good := map[string]bool{}, 0
				for _, a := range w.atOnce(requests...) {
					switch {
					case a.Code == 200:
						good++
						successors[a.Header().Get("Set-Cookie")] = true
					case a.Code != 401 || !strings.Contains(a.Body.String(), string(app.CodeTokenRevoked)):
						t.Fatalf("%d %s", a.Code, a.Body)
					}
				}
				want := 1
				if leeway > 0 {
					want = times
				}
				if good != want || len(successors) != 1 {
					t.Fatalf("%d succeeded, with %d successors", good, len(successors))
				}
				if leeway == 0 {
					b.dead()
				} else {
					b.present(successorOf(w, b.cookie)).ok(200, nil)
				}
			}
		})
	}
}

func successorOf(w *world, cookie string) string {
	token, err := w.server.tokens.parseRefresh(cookie, []app.Realm{app.RealmTenant})
	w.must(err)
	return w.server.tokens.mintRefresh(token.realm, token.session, token.counter+1)
}

// TestRefreshRacesLogout: whichever comes first, afterwards no token of the session is
// good, and no other session has ended.
func TestRefreshRacesLogout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.browse("ADMIN", "own")
	first := map[int]int{}
	for range rounds(40, 2000) {
		b := w.browse("ADMIN", "own")
		answers := w.atOnce(post("/auth/refresh", "", b.cookie), post("/auth/logout", b.access, ""))
		if first[answers[0].Code]++; answers[0].Code != 200 && answers[0].Code != 401 || answers[1].Code != 200 {
			t.Fatalf("refresh %d, logout %d", answers[0].Code, answers[1].Code)
		}
		b.dead()
		if answers[0].Code == 200 {
			b.present(successorOf(w, b.cookie)).refused(app.CodeTokenRevoked)
		}
	}
	other.refresh()
	t.Logf("the refresh's answers: %v", first)
}

// TestAlarmsDoNotMeet raises the alarm for all of a user's sessions at once, among refreshes
// and logouts: the locks are always taken in one order.
func TestAlarmsDoNotMeet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range rounds(5, 200) {
		var requests []*http.Request
		for range 8 {
			b := w.browse("ADMIN", "own")
			stolen := b.cookie
			b.refresh()
			requests = append(requests, post("/auth/refresh", "", stolen), post("/auth/refresh", "", b.cookie), post("/auth/logout", b.access, ""))
		}
		for _, a := range w.atOnce(requests...) {
			if a.Code != 200 && a.Code != 401 {
				t.Fatalf("%d %s", a.Code, a.Body)
			}
		}
		if alive := w.text("SELECT count(*) FROM sessions WHERE user_id = $1 AND ended_at IS NULL", w.users["ADMIN"].ID); alive != "0" {
			t.Fatalf("%s sessions live", alive)
		}
	}
	w.exec("SELECT pg_stat_force_next_flush()")
	if n := w.text("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"); n != "0" {
		t.Errorf("%s deadlocks", n)
	}
}
