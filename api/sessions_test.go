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
			t.Errorf("refresh %d: %s", i, got)
		}
		b.me().ok(200, nil)
		want := before
		want["iat"], want["exp"] = float64(w.now.Unix()), float64(w.now.Unix()+900)
		if got := claimsOf(t, b.access); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("claims %v instead of %v", got, want)
		}
	}
	if strings.Contains(w.log.String(), b.cookie) || strings.Contains(w.log.String(), b.access) {
		t.Error("a token is in the log")
	}

	// The seven days begin anew with each refresh.
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
		t.Errorf("claims %v", c)
	}
	b.me().ok(200, nil)
	w.doOn(b.server, "POST", "/auth/logout", b.access, nil).ok(200, nil).cleared()
	b.dead()

	demoted := w.browse("PLATFORM", "own")
	w.exec("UPDATE users SET platform_role = NULL WHERE id = $1", w.users["PLATFORM"].ID)
	demoted.dead()
}

// TestNoRefreshToken: what is no refresh token of ours is refused, and nothing comes of it.
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
		"no cookie":             func(*http.Request) {},
		"an empty one":          withCookie(""),
		"nonsense":              withCookie("nonsense"),
		"the wrong name":        header("Cookie", "RefreshToken="+b.cookie),
		"the customers' name":   header("Cookie", "customerRefreshToken="+b.cookie),
		"a header":              header("Authorization", "Bearer "+b.cookie),
		"an access token":       withCookie(b.access),
		"two cookies":           header("Cookie", refreshCookie+"="+b.cookie+"; "+refreshCookie+"="+b.cookie),
		"two, one superseded":   header("Cookie", refreshCookie+"="+old+"; "+refreshCookie+"="+b.cookie),
		"two, one malformed":    header("Cookie", refreshCookie+"="+b.cookie+"; "+refreshCookie+"=\x01"),
		"two, one without =":    header("Cookie", refreshCookie+"; "+refreshCookie+"="+b.cookie),
		"two in two headers":    func(r *http.Request) { withCookie(b.cookie)(r); withCookie(old)(r) },
		"in quotes":             withCookie(`"` + b.cookie + `"`),
		"altered trailing bits": withCookie(b.cookie[:len(b.cookie)-1] + string(flipPadding(b.cookie[len(b.cookie)-1]))),
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
		a := w.do("POST", "/auth/refresh", "", nil, change)
		a.what = name
		a.refused(app.CodeTokenInvalid)
		if got := a.Header().Values("Set-Cookie"); got != nil {
			t.Errorf("%s: cookies %q", name, got)
		}
	}
	w.do("POST", "/auth/refresh", "", nil, withCookie(w.server.tokens.mintRefresh(app.RealmTenant, "ses_none", 0))).refused(app.CodeTokenRevoked)
	b.refresh() // no alarm
	w.do("POST", "/auth/refresh", "", nil, header("Cookie", "a=b;"+refreshCookie+"="+b.cookie+"; c=\"; d")).ok(200, nil)
}

// TestRefreshIsRefusedInOrder: cross-origin, body, credential, validation; only then is the
// token used.
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
		w.do("POST", path, b.access, map[string]any{"storeId": w.stores["own"].id}, header("Sec-Fetch-Site", "cross-site")).refused(app.CodeCrossOrigin)
	}
	b.refresh()
}

// TestCookiesAreNoCredentialElsewhere: the cookie's path is /, its meaning is not.
func TestCookiesAreNoCredentialElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.browse("ADMIN", "own")
	for _, rt := range routes() {
		if !rt.byAccessToken() {
			continue
		}
		path := strings.Replace(rt.path, "{id}", "x", 1)
		body := w.body(rt)
		w.do(rt.method, path, "", body, withCookie(b.cookie)).refused(app.CodeTokenInvalid)
		w.do(rt.method, path, b.cookie, body).refused(app.CodeTokenInvalid)
	}
	b.refresh()
}

// TestReuse: a superseded token of a living session ends all of its user's sessions, and
// nobody else's.
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
	if reasons := w.text("SELECT string_agg(DISTINCT end_reason, ',') FROM sessions WHERE user_id = $1", w.users["ADMIN"].ID); reasons != "reuse" {
		t.Errorf("ended by %s", reasons)
	}
	if log := w.log.lines("warn"); len(log) != 1 || !strings.Contains(log[0], string(w.users["ADMIN"].ID)) {
		t.Errorf("the log of the alarm: %s", log)
	}

	// Who logs in anew is left alone, however often the stolen token comes.
	again := w.browse("ADMIN", "own")
	first.present(stolen).refused(app.CodeTokenRevoked)
	first.present(first.cookie).refused(app.CodeTokenRevoked)
	again.refresh()
}

// witness looks at the database when an answer begins.
type witness struct {
	*httptest.ResponseRecorder
	look func()
}

func (w witness) WriteHeader(status int) {
	w.look()
	w.ResponseRecorder.WriteHeader(status)
}

// TestTheAlarmIsCommittedBeforeTheAnswer: a server that dies while answering has still
// ended the sessions.
func TestTheAlarmIsCommittedBeforeTheAnswer(t *testing.T) {
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
		if alive := w.text("SELECT count(*) FROM sessions WHERE user_id = $1 AND ended_at IS NULL", w.users["ADMIN"].ID); alive != "0" {
			t.Errorf("%s sessions live when the answer begins", alive)
		}
		if told := w.text("SELECT count(*) FROM audit WHERE action = 'session.reused' AND target = $1", w.users["ADMIN"].ID); told != "2" {
			t.Errorf("%s of 2 stores are told when the answer begins", told)
		}
	}}, r)
	if looked != 1 {
		t.Errorf("%d answers", looked)
	}
}

// TestSessionsEndAlone: logout, expiry and age end one session; its tokens raise no alarm.
func TestSessionsEndAlone(t *testing.T) {
	t.Parallel()
	const maxAge = 30 * 24 * time.Hour
	for name, end := range map[string]func(w *world, b *browser){
		"logout": func(w *world, b *browser) {
			var data logoutOut
			w.do("POST", "/auth/logout", b.access, nil, withCookie(b.cookie)).ok(200, &data).cleared()
			if data.Message == "" {
				w.Error("no message")
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

// TestWhatEndsARefresh: the role, the membership and the user that count are the
// database's, with the next request.
func TestWhatEndsARefresh(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"].id
	admin, manager, staff := w.browse("ADMIN", "own"), w.browse("MANAGER", "own"), w.browse("STAFF", "own")
	w.exec("UPDATE memberships SET role = 'STAFF' WHERE user_id = $1 AND store_id = $2", w.users["ADMIN"].ID, own)
	w.do("GET", "/webhooks", admin.access, nil).refused(app.CodeInsufficientRole)
	admin.refresh()
	w.do("GET", "/webhooks", admin.access, nil).refused(app.CodeInsufficientRole)
	if role := claimsOf(t, admin.access)["role"]; role != "STAFF" {
		t.Errorf("the new token says %s", role)
	}

	w.exec("DELETE FROM memberships WHERE user_id = $1 AND store_id = $2", w.users["MANAGER"].ID, own)
	manager.dead()

	w.exec("UPDATE users SET disabled_at = now() WHERE id = $1", w.users["STAFF"].ID)
	staff.dead()
	w.exec("UPDATE users SET disabled_at = NULL WHERE id = $1", w.users["STAFF"].ID)
	staff.refresh() // nothing was used up
}

// TestRefreshAfterARestart: what counts is in the database; a new process knows it all.
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

// TestRefreshKeyRotation: a token signed with a key that is no longer the first is good as
// long as the key is in the ring, and what follows it is signed with the first.
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
			t.Errorf("at %s in %s", me.Store.StoreName, me.Store.Currency)
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
		if data.Store.StoreID != c.store || data.Store.StoreName == "" || data.Store.Role != c.role || a.Header().Get("Set-Cookie") != "" {
			t.Errorf("switched to %+v", data.Store)
		}
		b.access = data.AccessToken
		at(c.store, c.currency)
		b.refresh() // stays there
		at(c.store, c.currency)
		if c := claimsOf(t, b.access); c["storeId"] != string(data.Store.StoreID) || c["role"] != string(data.Store.Role) {
			t.Errorf("claims %v", c)
		}
	}
	if last := w.text("SELECT last_store_id FROM users WHERE id = $1", w.users["MANAGER"].ID); last != string(sibling.id) {
		t.Errorf("the next login begins at %s", last)
	}

	// Other websites', unknown and not-joined stores look the same.
	w.exec("INSERT INTO memberships (user_id, store_id, role, created_at) VALUES ($1, $2, 'OWNER', now())", w.users["MANAGER"].ID, w.stores["foreign"].id)
	seen := map[string]bool{}
	for _, store := range []app.StoreID{w.stores["foreign"].id, "sto_unknown"} {
		seen[to(store, "").refused(app.CodeStoreMismatch).same()] = true
	}
	b = w.browse("LONER", "own")
	seen[to(sibling.id, "").refused(app.CodeStoreMismatch).same()] = true
	seen[to(sibling.id, english).refused(app.CodeStoreMismatch).same()] = true
	if len(seen) != 1 {
		t.Errorf("the answers differ: %v", seen)
	}
	to(own.id, english).refused(app.CodeValidationFailed, "storeViewId")
	to(own.id, "view_none").refused(app.CodeValidationFailed, "storeViewId")
	to("", "").refused(app.CodeValidationFailed, "storeId")
	to("no id!", "nor this").refused(app.CodeValidationFailed, "storeId", "storeViewId")
	at(own.id, "EUR") // nothing of that has moved it
}

// TestTheLeewayRepeats: inside the leeway the token before the newest has the same
// successor, and no other token has.
func TestTheLeewayRepeats(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.server = w.serverOn(w.db.DB, func(c *Config) { c.RefreshLeeway = 10 * time.Second })
	b := w.browse("ADMIN", "own")
	first := b.cookie
	b.refresh()
	second := b.cookie
	w.now = w.now.Add(9 * time.Second)
	if repeated := b.present(first).ok(200, nil).newCookie(); repeated != second {
		t.Errorf("%s instead of %s", repeated, second)
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
