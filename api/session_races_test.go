package api

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

var long = flag.Bool("long", false, "run races for many more rounds")

// atOnce sends requests concurrently and returns their responses.
func (w *world) atOnce(requests ...*http.Request) []*httptest.ResponseRecorder {
	responses := make([]*httptest.ResponseRecorder, len(requests))
	start := make(chan struct{})
	var wait sync.WaitGroup
	for i, r := range requests {
		responses[i] = httptest.NewRecorder()
		wait.Go(func() {
			<-start
			w.server.ServeHTTP(responses[i], r)
		})
	}
	close(start)
	wait.Wait()
	return responses
}

func rounds(few, many int) int {
	if *long {
		return many
	}
	return few
}

// held are the tokens that a client of either realm holds of its session.
type held struct {
	paths, cookieName string
	access, refresh   string
}

// realms start a session in each realm. Each customer has its own email.
var realms = map[app.Realm]func(w *world, email string) held{
	app.RealmTenant: func(w *world, _ string) held {
		b := w.browse("ADMIN", "own")
		return held{"/auth/", userCookie, b.access, b.cookie}
	},
	app.RealmCustomer: func(w *world, email string) held {
		access := w.addCustomer("own", email).AccessToken
		session := app.SessionID(w.claimsOf(access)["sid"].(string))
		return held{
			"/customer-auth/", customerCookie, access, w.server.tokens.mintRefresh(app.RealmCustomer, session, 0),
		}
	},
}

func (h held) post(operation string) *http.Request {
	r := httptest.NewRequest("POST", issuer+h.paths+operation, nil)
	if operation == "logout" {
		r.Header.Set("Authorization", "Bearer "+h.access)
	}
	r.Header.Set("Cookie", h.cookieName+"="+h.refresh)
	return r
}

// successor returns h with the successor of its refresh token.
func (w *world) successor(h held) held {
	token, err := w.server.tokens.parseRefresh(h.refresh, []app.Realm{app.RealmTenant, app.RealmCustomer})
	w.must(err)
	h.refresh = w.server.tokens.mintRefresh(token.realm, token.session, token.counter+1)
	return h
}

// responses checks the status of an operation with these tokens. A 401 must be TOKEN_REVOKED.
func (w *world) responses(h held, operation string, status int) {
	w.Helper()
	a := w.atOnce(h.post(operation))[0]
	if a.Code != status || status == 401 && !strings.Contains(a.Body.String(), string(app.CodeTokenRevoked)) {
		w.Fatalf("%s%s: got %d %s, want %d", h.paths, operation, a.Code, a.Body, status)
	}
}

// Of fifty concurrent refreshes with one token, one succeeds and the others raise the alarm. Within the leeway, all
// get the same successor.
func TestParallelRefreshes(t *testing.T) {
	t.Parallel()
	const times = 50
	for realm, begin := range realms {
		for _, leeway := range []time.Duration{0, 2 * time.Second} {
			t.Run(fmt.Sprintf("%s, leeway %s", realm, leeway), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.server = w.serverOn(w.db.DB, func(c *Config) { c.RefreshLeeway = leeway })
				wantGood, then := 1, 401
				if leeway > 0 {
					wantGood, then = times, 200
				}
				for round := range rounds(10, 200) {
					h := begin(w, fmt.Sprintf("%d@example.com", round))
					var requests []*http.Request
					for range times {
						requests = append(requests, h.post("refresh"))
					}
					successors, good := map[string]bool{}, 0
					for _, a := range w.atOnce(requests...) {
						switch {
						case a.Code == 200:
							good++
							successors[a.Header().Get("Set-Cookie")] = true
						case a.Code != 401 || !strings.Contains(a.Body.String(), string(app.CodeTokenRevoked)):
							t.Fatalf("refresh: got %d %s, want 200 or %s", a.Code, a.Body, app.CodeTokenRevoked)
						}
					}
					if good != wantGood || len(successors) != 1 {
						t.Fatalf("got %d successes with %d successors, want %d with 1", good, len(successors), wantGood)
					}
					w.responses(w.successor(h), "refresh", then)
				}
			})
		}
	}
}

// After a concurrent refresh and logout, no token of the session is valid. Other sessions do not end.
func TestRefreshRacesLogout(t *testing.T) {
	t.Parallel()
	for realm, begin := range realms {
		t.Run(string(realm), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			other := begin(w, "other@example.com")
			first := map[int]int{}
			for round := range rounds(40, 2000) {
				h := begin(w, fmt.Sprintf("%d@example.com", round))
				responses := w.atOnce(h.post("refresh"), h.post("logout"))
				if first[responses[0].Code]++; responses[0].Code != 200 && responses[0].Code != 401 ||
					responses[1].Code != 200 {
					t.Fatalf("got refresh %d and logout %d, want 200 or 401 and 200", responses[0].Code,
						responses[1].Code)
				}
				w.responses(h, "logout", 401)
				w.responses(h, "refresh", 401)
				if responses[0].Code == 200 {
					w.responses(w.successor(h), "refresh", 401)
				}
			}
			w.responses(other, "refresh", 200)
			t.Logf("the refresh's responses: %v", first)
		})
	}
}

// Concurrent alarms, refreshes and logouts of one user do not deadlock, because they take their locks in one order.
func TestAlarmsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range rounds(5, 200) {
		var requests []*http.Request
		for i := range 9 {
			stolen := realms[app.RealmTenant](w, "")
			w.responses(stolen, "refresh", 200)
			requests = append(requests, stolen.post("refresh"))
			if i == 0 { // raises an alarm, unless another one ends its session
				continue
			}
			h := w.successor(stolen)
			requests = append(requests, h.post("refresh"), h.post("logout"))
		}
		for _, a := range w.atOnce(requests...) {
			if a.Code != 200 && a.Code != 401 {
				t.Fatalf("got %d %s, want 200 or 401", a.Code, a.Body)
			}
		}
		if alive := w.text("SELECT count(*) FROM sessions WHERE user_id = $1 AND ended_at IS NULL",
			w.users["ADMIN"].ID); alive != "0" {
			t.Fatalf("sessions after an alarm: got %s, want 0", alive)
		}
	}
	w.exec("SELECT pg_stat_force_next_flush()")
	if n := w.text("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"); n != "0" {
		t.Errorf("deadlocks: got %s, want 0", n)
	}
}
