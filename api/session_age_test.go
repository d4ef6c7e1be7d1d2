package api

import (
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// No operation issues an access token that is valid longer than its session. Tokens from before a shorter
// SessionMaxAge are refused.
func TestNoTokenOutlivesItsSession(t *testing.T) {
	t.Parallel()
	const maxAge = 20*time.Minute + 500*time.Millisecond
	w := newWorld(t)
	w.withPassword("user", nil, "own", "sibling")
	w.server = w.serverOn(w.db.DB, func(c *Config) { c.SessionMaxAge = maxAge })
	brief := w.serverOn(w.db.DB, func(c *Config) { c.SessionMaxAge = time.Minute })
	own := w.stores["own"].id
	expires := func(what, token string, after time.Duration) {
		t.Helper()
		if got := time.Unix(int64(w.claimsOf(token)["exp"].(float64)), 0).Sub(noon); got != after {
			t.Errorf("%s: expiry of the token: got %s, want %s", what, got, after)
		}
	}
	customer := func(path string) map[string]any {
		if path == "register" {
			return registration(own)
		}
		return object{"storeId": own, "email": "ada@example.com", "password": password}
	}

	var user loginOut
	a := w.do("POST", "/auth/login", "", credentials("user@example.com", password)).ok(200, &user)
	tenant := a.newCookie()
	expires("login", user.AccessToken, 15*time.Minute)
	var ada loginCustomerOut
	cookie := w.do("POST", "/customer-auth/register", "", customer("register")).ok(201, &ada).customerCookie()
	expires("register", ada.AccessToken, 15*time.Minute)
	var soon loginOut
	w.doOn(brief, "POST", "/auth/login", "", credentials("user@example.com", password)).ok(200, &soon)
	expires("login to a brief session", soon.AccessToken, time.Minute)
	var adaSoon loginCustomerOut
	w.doOn(brief, "POST", "/customer-auth/login", "", customer("login")).ok(200, &adaSoon)
	expires("a customer's login to a brief session", adaSoon.AccessToken, time.Minute)

	w.now = noon.Add(10 * time.Minute)
	var next refreshOut
	tenant = w.do("POST", "/auth/refresh", "", nil, withCookie(tenant)).ok(200, &next).newCookie()
	expires("refresh", next.AccessToken, 20*time.Minute)
	var elsewhere switchStoreOut
	w.do("POST", "/auth/switch-store", next.AccessToken, object{"storeId": w.stores["sibling"].id}).ok(200, &elsewhere)
	expires("switch-store", elsewhere.AccessToken, 20*time.Minute)
	var adaNext refreshOut
	cookie = w.customerRefresh(cookie).ok(200, &adaNext).customerCookie()
	expires("a customer's refresh", adaNext.AccessToken, 20*time.Minute)

	// A token that is issued in the last second of the session is expired, not malformed.
	order := "/orders/" + string(w.orderOf("own", ada.Customer.ID).ID)
	w.now = noon.Add(20*time.Minute + 200*time.Millisecond)
	var last refreshOut
	tenant = w.do("POST", "/auth/refresh", "", nil, withCookie(tenant)).ok(200, &last).newCookie()
	w.do("GET", "/auth/me", last.AccessToken, nil).refused(app.CodeTokenExpired)
	cookie = w.customerRefresh(cookie).ok(200, nil).customerCookie()

	lasting := w.serverOn(w.db.DB, func(*Config) {})
	var long, adaLong refreshOut
	tenant = w.doOn(lasting, "POST", "/auth/refresh", "", nil, withCookie(tenant)).ok(200, &long).newCookie()
	cookie = w.doOn(lasting, "POST", "/customer-auth/refresh", "", nil, header("Cookie", customerCookie+"="+cookie)).
		ok(200, &adaLong).customerCookie()
	w.do("GET", "/auth/me", long.AccessToken, nil).ok(200, nil)
	w.do("GET", order, adaLong.AccessToken, nil).ok(200, nil)
	w.now = noon.Add(maxAge)
	w.do("GET", "/auth/me", long.AccessToken, nil).refused(app.CodeTokenRevoked)
	w.do("GET", order, adaLong.AccessToken, nil).refused(app.CodeTokenRevoked)
	w.do("POST", "/auth/refresh", "", nil, withCookie(tenant)).refused(app.CodeTokenRevoked)
	w.customerRefresh(cookie).refused(app.CodeTokenRevoked)
	w.doOn(lasting, "GET", "/auth/me", long.AccessToken, nil).ok(200, nil)
	w.doOn(lasting, "GET", order, adaLong.AccessToken, nil).ok(200, nil)
}
