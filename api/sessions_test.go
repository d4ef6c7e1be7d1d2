package api

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

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
		if emitted := w.text("SELECT count(*) FROM audit WHERE action = 'session.reused' AND target = $1",
			w.users["ADMIN"].ID); emitted != "2" {
			t.Errorf("audit entries at the start of the response: got %s, want 2", emitted)
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

func TestSwitchStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, sibling := w.stores["own"], w.stores["sibling"]
	english := w.text("SELECT id FROM store_views WHERE store_id = $1 AND NOT is_default", sibling.id)
	b := w.browse("MANAGER", "own")
	to := func(store app.StoreID, view string) *response {
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
