package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
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

// A superseded token of a live session ends all sessions of its user, and no others.
func TestReuse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second, stranger := w.browse("ADMIN", "own"), w.browse("ADMIN", "sibling"), w.browse("OWNER", "own")
	stolen := first.cookie
	first.refresh()
	first.refresh()
	first.present(stolen).refused(app.CodeTokenRevoked).cleared()
	first.dead()
	second.dead()
	stranger.refresh()
	w.do("GET", "/products", w.tokens["ADMIN"], nil).refused(app.CodeTokenRevoked)
	if reasons := w.text("SELECT string_agg(DISTINCT end_reason, ',') FROM sessions WHERE user_id = $1",
		w.users["ADMIN"].ID); reasons != "reuse" {
		t.Errorf("end of the sessions: got %s, want reuse", reasons)
	}
	if log := w.log.lines("warn"); len(log) != 1 || !strings.Contains(log[0], string(w.users["ADMIN"].ID)) {
		t.Errorf("warnings: got %q, want one with the id of the user", log)
	}

	// A later login is not affected by further uses of the stolen token.
	again := w.browse("ADMIN", "own")
	first.present(stolen).refused(app.CodeTokenRevoked)
	first.present(first.cookie).refused(app.CodeTokenRevoked)
	again.refresh()
}

// witness reads the database when a response begins.
type witness struct {
	*httptest.ResponseRecorder
	look func()
}

func (w witness) WriteHeader(status int) {
	w.look()
	w.ResponseRecorder.WriteHeader(status)
}

// The sessions end even if the server dies while it sends the response.
func TestAlarmIsCommittedBeforeTheResponse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.browse("ADMIN", "own")
	stolen := b.cookie
	b.refresh()
	looked := 0
	r := httptest.NewRequest("POST", issuer+"/auth/refresh", nil)
	withCookie(stolen)(r)
	w.server.ServeHTTP(witness{httptest.NewRecorder(), func() {
		looked++
		if alive := w.text("SELECT count(*) FROM sessions WHERE user_id = $1 AND ended_at IS NULL",
			w.users["ADMIN"].ID); alive != "0" {
			t.Errorf("active sessions at the start of the response: got %s, want 0", alive)
		}
		if told := w.text("SELECT count(*) FROM audit WHERE action = 'session.reused' AND target = $1",
			w.users["ADMIN"].ID); told != "2" {
			t.Errorf("audit entries at the start of the response: got %s, want 2", told)
		}
	}}, r)
	if looked != 1 {
		t.Errorf("got %d responses, want 1", looked)
	}
}

// Logout, expiry and age end one session. Its tokens raise no alarm.
func TestSessionsEndAlone(t *testing.T) {
	t.Parallel()
	const maxAge = 30 * 24 * time.Hour
	for name, end := range map[string]func(w *world, b *browser){
		"logout": func(w *world, b *browser) {
			var data logoutOut
			w.do("POST", "/auth/logout", b.access, nil, withCookie(b.cookie)).ok(200, &data).cleared()
			if data.Message == "" {
				w.Error("logout: got no message, want one")
			}
			w.do("POST", "/auth/logout", b.access, nil).refused(app.CodeTokenRevoked)
			b.dead()
		},
		"expiry": func(w *world, b *browser) { w.now = w.now.Add(168 * time.Hour) },
		"age": func(w *world, b *browser) {
			for day := 1; day < 30; day++ {
				w.now = noon.Add(time.Duration(day) * 24 * time.Hour)
				b.refresh()
			}
			w.now = noon.Add(maxAge - time.Second)
			b.refresh()
			w.now = noon.Add(maxAge)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.server = w.serverOn(w.db.DB, func(c *Config) { c.SessionMaxAge = maxAge })
			b := w.browse("ADMIN", "own")
			first := b.cookie
			b.refresh()
			end(w, b)
			other := w.browse("ADMIN", "own")
			b.present(b.cookie).refused(app.CodeTokenRevoked).cleared()
			b.present(first).refused(app.CodeTokenRevoked).cleared()
			other.refresh()
			other.me().ok(200, nil)
		})
	}
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

func TestSwitchStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, sibling := w.stores["own"], w.stores["sibling"]
	english := w.text("SELECT id FROM store_views WHERE store_id = $1 AND NOT is_default", sibling.id)
	b := w.browse("MANAGER", "own")
	to := func(store app.StoreID, view string) *answer {
		body := map[string]any{"storeId": store}
		if view != "" {
			body["storeViewId"] = view
		}
		return w.do("POST", "/auth/switch-store", b.access, body)
	}
	at := func(store app.StoreID, currency app.Currency) {
		t.Helper()
		var me meOut
		b.me().ok(200, &me)
		if me.Store.StoreID != store || me.Store.Currency != currency {
			t.Errorf("got the store %s with %s, want %s with %s", me.Store.StoreID, me.Store.Currency, store, currency)
		}
	}
	for _, c := range []struct {
		store    app.StoreID
		view     string
		currency app.Currency
		role     app.Role
	}{
		{sibling.id, "", "EUR", app.RoleOwner},
		{sibling.id, english, "USD", app.RoleOwner},
		{own.id, "", "EUR", app.RoleManager},
		{sibling.id, english, "USD", app.RoleOwner},
	} {
		var data switchStoreOut
		a := to(c.store, c.view).ok(200, &data)
		if data.Store.StoreID != c.store || data.Store.StoreName == "" || data.Store.Role != c.role ||
			a.Header().Get("Set-Cookie") != "" {
			t.Errorf("switched to %+v, want the store %s as %s, without a cookie", data.Store, c.store, c.role)
		}
		b.access = data.AccessToken
		at(c.store, c.currency)
		b.refresh() // the refresh keeps the store
		at(c.store, c.currency)
		if c := claimsOf(t, b.access); c["storeId"] != string(data.Store.StoreID) ||
			c["role"] != string(data.Store.Role) {
			t.Errorf("claims: got %v, want the store and the role of %+v", c, data.Store)
		}
	}
	if last := w.text("SELECT last_store_id FROM users WHERE id = $1",
		w.users["MANAGER"].ID); last != string(sibling.id) {
		t.Errorf("store of the next login: got %s, want %s", last, sibling.id)
	}

	// Stores of other websites, unknown stores and stores that the user has not joined get the same response.
	w.exec("INSERT INTO memberships (user_id, store_id, role, created_at) VALUES ($1, $2, 'OWNER', now())",
		w.users["MANAGER"].ID, w.stores["foreign"].id)
	seen := map[string]bool{}
	for _, store := range []app.StoreID{w.stores["foreign"].id, "sto_unknown"} {
		seen[to(store, "").refused(app.CodeStoreMismatch).same()] = true
	}
	b = w.browse("LONER", "own")
	seen[to(sibling.id, "").refused(app.CodeStoreMismatch).same()] = true
	seen[to(sibling.id, english).refused(app.CodeStoreMismatch).same()] = true
	if len(seen) != 1 {
		t.Errorf("got different responses, want equal ones: %v", seen)
	}
	to(own.id, english).refused(app.CodeValidationFailed, "storeViewId")
	to(own.id, "view_none").refused(app.CodeValidationFailed, "storeViewId")
	to("", "").refused(app.CodeValidationFailed, "storeId")
	to("no id!", "nor this").refused(app.CodeValidationFailed, "storeId", "storeViewId")
	at(own.id, "EUR") // the refused requests have not changed the store
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
