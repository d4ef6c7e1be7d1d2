package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestRefresh(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.browse("ADMIN", "own")
	before := claimsOf(t, b.access)
	for i := range 3 {
		w.now = w.now.Add(time.Minute)
		old := b.cookie
		a := b.refresh()
		if got := string(a.body.Data); strings.Count(got, ":") != 1 || b.cookie == old {
			t.Errorf("refresh %d: got %s and the cookie %s, want one member and a new cookie", i, got, b.cookie)
		}
		b.me().ok(200, nil)
		want := before
		want["iat"], want["exp"] = float64(w.now.Unix()), float64(w.now.Unix()+900)
		if got := claimsOf(t, b.access); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("claims: got %v, want %v", got, want)
		}
	}
	if strings.Contains(w.log.String(), b.cookie) || strings.Contains(w.log.String(), b.access) {
		t.Error("the log contains a token")
	}

	// Each refresh starts a new period of seven days.
	w.now = w.now.Add(168*time.Hour - time.Second)
	b.refresh()
	w.now = w.now.Add(168*time.Hour - time.Second)
	b.refresh()
	other := w.browse("ADMIN", "own")
	w.now = w.now.Add(168 * time.Hour)
	b.present(b.cookie).refused(app.CodeTokenRevoked).cleared()
	b.me().refused(app.CodeTokenExpired)
	w.now = w.now.Add(-168 * time.Hour)
	other.refresh()
}

func TestPlatformRefresh(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.browse("PLATFORM", "own")
	b.refresh()
	b.refresh()
	if c := claimsOf(t, b.access); c["aud"] != "platform-admin" || c["storeId"] != nil || c["role"] != nil {
		t.Errorf("claims: got %v, want aud platform-admin without storeId and role", c)
	}
	b.me().ok(200, nil)
	w.doOn(b.server, "POST", "/auth/logout", b.access, nil).ok(200, nil).cleared()
	b.dead()

	demoted := w.browse("PLATFORM", "own")
	w.exec("UPDATE users SET platform_role = NULL WHERE id = $1", w.users["PLATFORM"].ID)
	demoted.dead()
}

// A cookie that is no valid refresh token is refused and has no effect.
func TestNoRefreshToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.browse("ADMIN", "own")
	old := b.cookie
	b.refresh()
	parts := strings.Split(b.cookie, ".")
	session, mac := parts[0], parts[2]
	signed := func(purpose string) string {
		return signRefresh(persistencetest.Keyring().Derive(purpose)[0], app.SessionID(session), 1)
	}
	for name, change := range map[string]func(*http.Request){
		"no cookie":           func(*http.Request) {},
		"an empty one":        withCookie(""),
		"nonsense":            withCookie("nonsense"),
		"the wrong name":      header("Cookie", "RefreshToken="+b.cookie),
		"the customers' name": header("Cookie", "customerRefreshToken="+b.cookie),
		"a header":            header("Authorization", "Bearer "+b.cookie),
		"an access token":     withCookie(b.access),
		"two cookies":         header("Cookie", userCookie+"="+b.cookie+"; "+userCookie+"="+b.cookie),
		"two, one superseded": header("Cookie", userCookie+"="+old+"; "+userCookie+"="+b.cookie),
		"two, one malformed":  header("Cookie", userCookie+"="+b.cookie+"; "+userCookie+"=\x01"),
		"two, one without =":  header("Cookie", userCookie+"; "+userCookie+"="+b.cookie),
		"two in two headers":  func(r *http.Request) { withCookie(b.cookie)(r); withCookie(old)(r) },
		"in quotes":           withCookie(`"` + b.cookie + `"`),
		"altered trailing bits": withCookie(
			b.cookie[:len(b.cookie)-1] + string(flipPadding(b.cookie[len(b.cookie)-1]))),
		"padding":               withCookie(b.cookie + "="),
		"another counter":       withCookie(session + ".2." + mac),
		"a counter with zeros":  withCookie(session + ".01." + mac),
		"a counter with a plus": withCookie(session + ".+1." + mac),
		"no counter":            withCookie(session + ".." + mac),
		"a huge counter":        withCookie(session + ".99999999999999999999." + mac),
		"another session":       withCookie(session + "0.1." + mac),
		"no MAC":                withCookie(session + ".1."),
		"half a MAC":            withCookie(session + ".1." + mac[:20]),
		"a fourth part":         withCookie(b.cookie + ".x"),
		"one never made":        withCookie(w.server.tokens.mintRefresh(app.RealmTenant, app.SessionID(session), 2)),
		"less than none":        withCookie(w.server.tokens.mintRefresh(app.RealmTenant, app.SessionID(session), -1)),
		"the customers' key":    withCookie(signed("customer refresh token")),
		"the access tokens'":    withCookie(signed("tenant access token")),
		"very long":             withCookie(strings.Repeat("x", 1<<16)),
	} {
		w.run(name, func(t *testing.T) {
			a := w.do("POST", "/auth/refresh", "", nil, change)
			a.refused(app.CodeTokenInvalid)
			if got := a.Header().Values("Set-Cookie"); got != nil {
				t.Errorf("%s: got the cookies %q, want none", name, got)
			}
		})
	}
	w.do("POST", "/auth/refresh", "", nil, withCookie(w.server.tokens.mintRefresh(app.RealmTenant, "ses_none", 0))).
		refused(app.CodeTokenRevoked)
	b.refresh() // no alarm
	w.do("POST", "/auth/refresh", "", nil, header("Cookie", "a=b;"+userCookie+"="+b.cookie+"; c=\"; d")).ok(200, nil)
}

// A refresh is refused for its origin, its body, its credential and its content in this order. Only a request without
// faults uses the token.
func TestRefreshIsRefusedInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.browse("ADMIN", "own")
	good, bad := withCookie(b.cookie), withCookie("x")
	w.do("POST", "/auth/refresh?x=1", "", "{", bad, header("Sec-Fetch-Site", "cross-site")).refused(app.CodeCrossOrigin)
	w.do("POST", "/auth/refresh?x=1", "", "{", bad).refused(app.CodeValidationFailed)
	w.do("POST", "/auth/refresh?x=1", "", `{"a":1}`, bad).refused(app.CodeTokenInvalid)
	w.do("POST", "/auth/refresh?x=1", "", `{"a":1}`, good).refused(app.CodeValidationFailed, "x", "a")
	w.do("POST", "/auth/refresh", "", nil, good, plain80).refused(app.CodeHTTPSRequired)
	for _, path := range []string{"/auth/logout", "/auth/switch-store"} {
		w.do("POST", path, b.access, map[string]any{"storeId": w.stores["own"].id},
			header("Sec-Fetch-Site", "cross-site")).refused(app.CodeCrossOrigin)
	}
	b.refresh()
}

// Other operations ignore the cookie of the refresh token, although its path is /.
func TestCookiesAreNoCredentialElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.browse("ADMIN", "own")
	for _, rt := range routes() {
		if !rt.byAccessToken() {
			continue
		}
		path := strings.Replace(rt.Path, "{id}", "x", 1)
		body := w.body(rt)
		w.do(rt.Method, path, "", body, withCookie(b.cookie)).refused(app.CodeTokenInvalid)
		w.do(rt.Method, path, b.cookie, body).refused(app.CodeTokenInvalid)
	}
	b.refresh()
}

// Changes of the role, the membership and the user apply to the next refresh.
func TestRoleChangesApplyToTheNextRefresh(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"].id
	admin, manager, staff := w.browse("ADMIN", "own"), w.browse("MANAGER", "own"), w.browse("STAFF", "own")
	w.exec("UPDATE memberships SET role = 'STAFF' WHERE user_id = $1 AND store_id = $2", w.users["ADMIN"].ID, own)
	w.do("GET", "/webhooks", admin.access, nil).refused(app.CodeInsufficientRole)
	admin.refresh()
	w.do("GET", "/webhooks", admin.access, nil).refused(app.CodeInsufficientRole)
	if role := claimsOf(t, admin.access)["role"]; role != "STAFF" {
		t.Errorf("role of the new token: got %v, want STAFF", role)
	}

	w.exec("DELETE FROM memberships WHERE user_id = $1 AND store_id = $2", w.users["MANAGER"].ID, own)
	manager.dead()

	w.exec("UPDATE users SET disabled_at = now() WHERE id = $1", w.users["STAFF"].ID)
	staff.dead()
	w.exec("UPDATE users SET disabled_at = NULL WHERE id = $1", w.users["STAFF"].ID)
	staff.refresh() // nothing was used up
}

// The state of sessions is in the database, so a restarted server continues them.
func TestRefreshAfterARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.browse("ADMIN", "own")
	first := b.cookie
	b.refresh()
	b.server = w.serverOn(w.db.DB, func(*Config) {})
	b.refresh()
	b.server = w.serverOn(w.db.DB, func(*Config) {})
	b.present(first).refused(app.CodeTokenRevoked).cleared()
	b.server = w.serverOn(w.db.DB, func(*Config) {})
	b.dead()
}

// A token that an old key of the ring signed is valid, and its successor is signed with the first key.
func TestRefreshKeyRotation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := func(keys ...string) *Server {
		ring, err := app.NewKeyring(app.NewSecret(strings.Join(keys, ",")))
		w.must(err)
		return w.serverOn(w.db.DB, func(c *Config) { c.Keyring = ring })
	}
	before, after := strings.Repeat("old", 20), strings.Repeat("new", 20)
	w.server = server(before)
	b, left := w.browse("ADMIN", "own"), w.browse("ADMIN", "own")
	b.server = server(after, before)
	b.refresh()
	b.server = server(after)
	b.refresh()
	left.server = server(after)
	left.present(left.cookie).refused(app.CodeTokenInvalid)
}

// Within the leeway, the previous token gets the same successor as before. Older tokens do not.
func TestLeewayRepeatsTheSuccessor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.server = w.serverOn(w.db.DB, func(c *Config) { c.RefreshLeeway = 10 * time.Second })
	b := w.browse("ADMIN", "own")
	first := b.cookie
	b.refresh()
	second := b.cookie
	w.now = w.now.Add(9 * time.Second)
	if repeated := b.present(first).ok(200, nil).newCookie(); repeated != second {
		t.Errorf("repeated refresh: got the cookie %s, want %s", repeated, second)
	}
	w.now = w.now.Add(time.Second)
	b.present(first).refused(app.CodeTokenRevoked)
	b.dead()

	b = w.browse("ADMIN", "own")
	first = b.cookie
	b.refresh()
	b.refresh()
	b.present(first).refused(app.CodeTokenRevoked)
	b.dead()

	b = w.browse("ADMIN", "own")
	first = b.cookie
	b.refresh()
	w.do("POST", "/auth/logout", b.access, nil).ok(200, nil)
	b.present(first).refused(app.CodeTokenRevoked) // not even in the leeway
}
