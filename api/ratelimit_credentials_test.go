package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Refresh, logout and switch-store share the budget of the session. They count after the credential is checked.
func TestSessionsHaveABudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.strict()
	table := []route{{
		Method: "POST", Path: "/auth/refresh", Permission: public, Limit: perRefresh, Cookie: userCookie, Status: 200,
		Handler: handle("refresh", func(s *Server, ctx context.Context, c *call, _ noIn) (noIn, error) {
			return noIn{}, s.limitSession(ctx, c, app.SessionID(c.request.Header.Get("Session")))
		}),
	}}
	for _, path := range []string{"/auth/logout", "/auth/switch-store"} {
		table = append(table, route{
			Method: "POST", Path: path, Realms: []app.Realm{app.RealmTenant}, Permission: app.ViewOwnTenantLogin,
			Limit: perSession, Status: 200,
			Handler: handle("nothing",
				func(*Server, context.Context, *call, noIn) (noIn, error) { return noIn{}, nil }),
		})
	}
	s.router = s.newRouter(table, true)
	send := func(path, token string, change ...func(*http.Request)) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", issuer+path, nil)
		r.Header.Set("Authorization", "Bearer "+token)
		for _, f := range change {
			f(r)
		}
		response := httptest.NewRecorder()
		s.ServeHTTP(response, r)
		return response
	}
	expect := func(response *httptest.ResponseRecorder, status int) {
		t.Helper()
		if response.Code != status {
			t.Errorf("got status %d, want %d: %s", response.Code, status, response.Body)
		}
	}
	owner := w.claims("OWNER", w.stores["own"].id)
	token, err := s.tokens.mint(w.now, owner)
	w.must(err)
	refresh := []func(*http.Request){header("Cookie", "refreshToken=x"), header("Session", string(owner.SessionID))}
	for i := range 10 {
		switch i % 3 {
		case 0:
			expect(send("/auth/switch-store", token), 200)
		case 1:
			expect(send("/auth/logout", token), 200)
		case 2:
			expect(send("/auth/refresh", "", refresh...), 200)
		}
	}
	expect(send("/auth/switch-store", token), 429)
	expect(send("/auth/logout", token), 429)
	expect(send("/auth/refresh", "", refresh...), 429)
	expect(send("/auth/switch-store", "x"), 401)
	expect(send("/auth/switch-store", w.tokens["ADMIN"]), 200)

	// Without the cookie there is no session; the address counts.
	for range 10 {
		expect(send("/auth/refresh", "", header("Session", string(app.NewID[app.SessionID](noon)))), 200)
	}
	expect(send("/auth/refresh", "", header("Session", "other")), 429)
	expect(send("/auth/refresh", "", header("Cookie", "refreshToken=x"), header("Session", "other")), 200)
}

// An unknown API key counts for its address. When the address has used up its budget, unknown keys get 429, but valid
// keys and tokens are not refused.
func TestUnknownKeysCountForTheAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.strict()
	here, key := from("203.0.113.7"), w.key("own", app.ScopeReadOrders)
	for i := range 10 {
		w.doOn(s, "GET", "/orders", fmt.Sprintf("svc_live_sk_%032x", i), nil, here).refused(app.CodeTokenInvalid)
		w.doOn(s, "GET", "/orders", "svc_malformed", nil, here).refused(app.CodeTokenInvalid)
		w.doOn(s, "GET", "/orders", key, nil, here).ok(200, nil)
	}
	unknown := "svc_live_sk_" + strings.Repeat("0f", 16)
	if wait := w.doOn(s, "GET", "/orders", unknown, nil, here).retryAfter(); wait > time.Hour || wait < 59*time.Minute {
		t.Errorf("Retry-After of an unknown key: got %v, want about an hour", wait)
	}
	w.try(s, "nobody@example.com", "203.0.113.7").refused(app.CodeRateLimited)
	w.doOn(s, "GET", "/orders", key, nil, here).ok(200, nil)
	w.doOn(s, "GET", "/orders", w.tokens["OWNER"], nil, here).ok(200, nil)
	w.doOn(s, "GET", "/orders", unknown, nil, from("203.0.113.8")).refused(app.CodeTokenInvalid)

	w.do("POST", "/api-keys/"+string(w.stores["own"].key.ID)+"/revoke", w.tokens["OWNER"], nil).ok(200, nil)
	w.exec("UPDATE api_keys SET revoked_at = $1 WHERE name = 'Test'", noon)
	w.doOn(s, "GET", "/orders", key, nil, here).refused(app.CodeAPIKeyRevoked) // the key is known
}

// A refresh with a cookie that no session matches counts for the address, once.
func TestUnmatchedRefreshTokensCountForTheAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for path, name := range map[string]string{"/auth/refresh": userCookie, "/customer-auth/refresh": customerCookie} {
		s := w.strict()
		w.exec("DELETE FROM rate_limits")
		realm := app.RealmTenant
		if name == customerCookie {
			realm = app.RealmCustomer
		}
		refresh := func(cookie string) *response {
			return w.doOn(s, "POST", path, "", nil, from("203.0.113.7"), header("Cookie", cookie))
		}
		unmatched := []string{
			name + "=x", name + `="x"`, name + "=a; " + name + "=b", name + "=a b",
			name + "=" + s.tokens.mintRefresh(realm, app.NewID[app.SessionID](noon), 1),
		}
		for i := range 10 {
			if a := refresh(unmatched[i%len(unmatched)]); a.Code != http.StatusUnauthorized {
				t.Errorf("%s with %s: got %d, want 401: %s", path, unmatched[i%len(unmatched)], a.Code, a.Body)
			}
		}
		for _, cookie := range unmatched {
			refresh(cookie).refused(app.CodeRateLimited)
		}
		w.doOn(s, "POST", path, "", nil, from("203.0.113.7")).refused(app.CodeRateLimited)
		w.try(s, "nobody@example.com", "203.0.113.7").refused(app.CodeRateLimited)
	}
	// The cookie of a session is not refused because of the address.
	owner := w.claims("OWNER", w.stores["own"].id)
	s := w.strict()
	cookie := userCookie + "=" + s.tokens.mintRefresh(app.RealmTenant, owner.SessionID, 0)
	w.doOn(s, "POST", "/auth/refresh", "", nil, from("203.0.113.7"), header("Cookie", cookie)).ok(200, nil)
}
