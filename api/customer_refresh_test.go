package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// customerCookie is the refresh token in an answer's cookie.
func (a *answer) customerCookie() string {
	a.t.Helper()
	value, attributes, _ := strings.Cut(a.Header().Get("Set-Cookie"), ";")
	name, token, _ := strings.Cut(value, "=")
	if name != customerRefreshCookie || attributes != " Path=/; Max-Age=604800; HttpOnly; Secure; SameSite=Strict" {
		a.t.Errorf("%s: cookie %q", a.what, a.Header().Get("Set-Cookie"))
	}
	return token
}

func (w *world) customerLogin(email string) string {
	w.Helper()
	return w.do("POST", "/customer-auth/register", "", altered(registration(w.stores["own"].id), object{"email": email})).ok(201, nil).customerCookie()
}

func (w *world) customerRefresh(cookie string) *answer {
	w.Helper()
	return w.do("POST", "/customer-auth/refresh", "", nil, header("Cookie", customerRefreshCookie+"="+cookie))
}

func TestCustomerRefresh(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.customerLogin("ada@example.com")
	a := w.customerRefresh(first)
	var out refreshOut
	second := a.ok(200, &out).customerCookie()
	w.do("GET", "/orders/"+string(w.stores["own"].order.ID), out.AccessToken, nil).refused(app.CodeNotFound) // a customer's token, for nobody else's order
	third := w.customerRefresh(second).ok(200, nil).customerCookie()

	// A superseded token ends all sessions of the customer, and of nobody else.
	other := w.customerLogin("bob@example.com")
	w.customerRefresh(first).refused(app.CodeTokenRevoked)
	w.customerRefresh(third).refused(app.CodeTokenRevoked)
	w.do("POST", "/customer-auth/logout", out.AccessToken, nil).refused(app.CodeTokenRevoked)
	w.customerRefresh(other).ok(200, nil)
}

func TestCustomerRefreshRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cookie := w.customerLogin("ada@example.com")
	tenant := w.server.tokens.mintRefresh(app.RealmTenant, "ses_1", 0)
	for name, present := range map[string]func() *answer{
		"none":       func() *answer { return w.do("POST", "/customer-auth/refresh", "", nil) },
		"a tenant's": func() *answer { return w.customerRefresh(tenant) },
		"twice":      func() *answer { return w.customerRefresh(cookie + "; " + customerRefreshCookie + "=" + cookie) },
		"altered":    func() *answer { return w.customerRefresh(cookie[:len(cookie)-1] + "_") },
		"as a tenant's": func() *answer {
			return w.do("POST", "/auth/refresh", "", nil, header("Cookie", refreshCookie+"="+cookie))
		},
		"under its name": func() *answer {
			return w.do("POST", "/customer-auth/refresh", "", nil, header("Cookie", refreshCookie+"="+cookie))
		},
	} {
		a := present()
		a.what += " with " + name
		a.refused(app.CodeTokenInvalid)
	}
	w.customerRefresh(cookie).ok(200, nil) // none of that has raised an alarm

	cookie = w.customerLogin("bob@example.com")
	w.exec("UPDATE customers SET disabled_at = now() WHERE email = 'bob@example.com'")
	w.customerRefresh(cookie).refused(app.CodeTokenRevoked)
	cookie = w.customerLogin("eve@example.com")
	w.now = w.now.Add(168 * time.Hour)
	w.customerRefresh(cookie).refused(app.CodeTokenRevoked)
}

// TestParallelCustomerRefreshes is TestParallelRefreshes for a customer's token.
func TestParallelCustomerRefreshes(t *testing.T) {
	t.Parallel()
	const times = 50
	for name, leeway := range map[string]time.Duration{"no leeway": 0, "2 s": 2 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.server = w.serverOn(w.db.DB, func(c *Config) { c.RefreshLeeway = leeway })
			for round := range rounds(10, 200) {
				cookie := w.customerSession(fmt.Sprintf("%d@example.com", round))
				var requests []*http.Request
				for range times {
					requests = append(requests, customerPost("refresh", "", cookie))
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
				next := w.customerRefresh(w.customerSuccessor(cookie))
				if leeway == 0 {
					next.refused(app.CodeTokenRevoked)
				} else {
					next.ok(200, nil)
				}
			}
		})
	}
}

// TestCustomerRefreshRacesLogout: whichever comes first, afterwards no token of the session
// is good, and no other session has ended.
func TestCustomerRefreshRacesLogout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.customerSession("other@example.com")
	for round := range rounds(40, 2000) {
		ada := w.addCustomer("own", fmt.Sprintf("%d@example.com", round))
		cookie := w.server.tokens.mintRefresh(app.RealmCustomer, app.SessionID(w.claimsOf(ada.AccessToken)["sid"].(string)), 0)
		answers := w.atOnce(customerPost("refresh", "", cookie), customerPost("logout", ada.AccessToken, ""))
		if answers[0].Code != 200 && answers[0].Code != 401 || answers[1].Code != 200 {
			t.Fatalf("refresh %d, logout %d", answers[0].Code, answers[1].Code)
		}
		w.do("POST", "/customer-auth/logout", ada.AccessToken, nil).refused(app.CodeTokenRevoked)
		w.customerRefresh(cookie).refused(app.CodeTokenRevoked)
		if answers[0].Code == 200 {
			w.customerRefresh(w.customerSuccessor(cookie)).refused(app.CodeTokenRevoked)
		}
	}
	w.customerRefresh(other).ok(200, nil)
}

// customerSession begins a session of a new customer and returns its refresh token.
func (w *world) customerSession(email string) string {
	w.Helper()
	session := w.claimsOf(w.addCustomer("own", email).AccessToken)["sid"].(string)
	return w.server.tokens.mintRefresh(app.RealmCustomer, app.SessionID(session), 0)
}

func (w *world) customerSuccessor(cookie string) string {
	token, err := w.server.tokens.parseRefresh(cookie, []app.Realm{app.RealmCustomer})
	w.must(err)
	return w.server.tokens.mintRefresh(token.realm, token.session, token.counter+1)
}

func customerPost(path, token, cookie string) *http.Request {
	r := httptest.NewRequest("POST", issuer+"/customer-auth/"+path, nil)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Cookie", customerRefreshCookie+"="+cookie)
	return r
}
