package api

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

const somewhere = "198.51.100.23"

// trail returns the lines of all stores and of the store "platform" for which the condition holds.
func (w *world) trail(where string, args ...any) (lines []line) {
	w.Helper()
	w.server.Close() // waits for failed logins, which are recorded in the background
	rows, err := w.db.System().DB.QueryContext(w.Context(), `
		SELECT store_id, action, actor_realm, actor_id, target, details::text, address, request_id
		FROM (
			SELECT * FROM audit UNION ALL
			SELECT id, 'platform', action, actor_realm, actor_id, target, details, address, request_id, at
			FROM platform_audit
		) AS trail WHERE `+where, args...)
	w.must(err)
	defer rows.Close()
	for rows.Next() {
		var l line
		w.must(rows.Scan(&l.store, &l.action, &l.realm, &l.actor, &l.target, &l.details, &l.address, &l.request))
		for name, shop := range w.stores {
			if string(shop.id) == l.store {
				l.store = name
			}
		}
		lines = append(lines, l)
	}
	w.must(rows.Err())
	return lines
}

// state returns hashes of the tables that actions change.
func (w *world) state() string {
	w.Helper()
	w.server.Close()
	var parts []string
	for _, table := range []string{
		"users", "memberships", "invitations", "sessions", "customer_sessions", "api_keys", "idempotency_keys",
		"websites", "stores", "subscriptions", "deliveries", "audit", "platform_audit", "orders", "payments", "refunds",
	} {
		parts = append(parts,
			table+" "+w.text(`SELECT coalesce(md5(string_agg(t::text, '|' ORDER BY t::text)), '') FROM `+table+` t`))
	}
	return strings.Join(parts, "\n")
}

// Each action writes exactly its entries, with actor, target, address and request id. If an entry cannot be written,
// the action has no effect.
func TestActionsAreAudited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	role := app.PlatformAdmin
	w.withPassword("ada", nil, "own", "sibling")
	w.withPassword("disabled", nil, "own")
	w.withPassword("moved", nil, "sibling")
	w.withPassword("root", &role)
	w.exec("UPDATE users SET disabled_at = $1 WHERE id = $2", noon, w.users["disabled"].ID)
	w.createKey(w.tokens["OWNER"], object{"mode": "test"}) // creates a sandbox, which gets no entries
	schema, err := sql.Open("pgx", w.db.OwnerURL)
	w.must(err)
	t.Cleanup(func() { schema.Close() })
	alter := func(how string) {
		t.Helper()
		w.server.Close()
		_, err := schema.ExecContext(t.Context(), "ALTER TABLE audit "+how+"; ALTER TABLE platform_audit "+how)
		w.must(err)
	}
	recorded := map[app.AuditAction]bool{}
	for name, prepare := range w.actions() {
		d := prepare()
		before := w.state()
		if d.status < 400 || strings.Contains(name, "reuse") {
			alter("ADD CONSTRAINT broken CHECK (false) NOT VALID")
			if a := d.act(); a.Code == http.StatusInternalServerError {
				if diff := cmp.Diff(before, w.state()); diff != "" {
					t.Errorf("%s: state after a failed write of its entry (-want +got):\n%s", name, diff)
				}
			} else if d.lines(a) != nil {
				t.Errorf("%s: status after a failed write of its entry: got %d, want 500", name, a.Code)
			}
			alter("DROP CONSTRAINT broken")
		}
		a := d.act()
		if a.Code != d.status {
			t.Errorf("%s: got status %d, want %d: %s", name, a.Code, d.status, a.Body)
			continue
		}
		want := d.lines(a)
		for i := range want {
			want[i].address, want[i].request = somewhere, a.Header().Get("X-Request-Id")
			recorded[want[i].action] = true
		}
		got := w.trail("request_id = $1", a.Header().Get("X-Request-Id"))
		byStore := func(a, b line) int { return strings.Compare(a.store+string(a.action), b.store+string(b.action)) }
		slices.SortFunc(got, byStore)
		slices.SortFunc(want, byStore)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(line{})); diff != "" {
			t.Errorf("%s: entries (-want +got):\n%s", name, diff)
		}
	}
	if len(recorded) < 15 {
		t.Errorf("actions of the entries: got %d, want at least 15", len(recorded))
	}
	whole := w.text("SELECT string_agg(a::text, ' ') FROM audit a")
	for _, secret := range []string{password, goodPassword, "swordfish", webhookSecret, "svc_live_sk_", "secret/path",
		"argon2"} {
		if strings.Contains(whole, secret) {
			t.Errorf("the audit trail contains the secret %q", secret)
		}
	}
}

// A refused action writes no entry, except a failed login.
func TestRefusedActionsAreNotAudited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, owner, loner := w.stores["own"], w.tokens["OWNER"], w.tokens["LONER"]
	w.exec("UPDATE memberships SET role = 'STAFF' WHERE store_id = $1 AND role = 'OWNER' AND user_id <> $2", own.id,
		w.users["LONER"].ID)
	token := w.do("POST", "/users", loner, grace("STAFF")).ok(201, nil)
	var invitation invitationOut
	w.must(json.Unmarshal(token.body.Data, &invitation))
	before := len(w.trail("true"))
	w.do("POST", "/deliveries/"+string(own.delivery.ID)+"/replay", loner, nil).refused(app.CodeDeliveryInProgress)
	for _, rt := range routes() {
		if rt.Method == "GET" || !rt.byAccessToken() || app.Permissions[rt.Permission].Role == "" {
			continue
		}
		if app.Permissions[rt.Permission].Role != app.RoleStaff {
			w.attempt(rt, "own", owner).refused(app.CodeInsufficientRole) // STAFF by now
		}
		if strings.Contains(rt.Path, "{id}") && !strings.HasPrefix(rt.Path, "/auth/") { // sessions belong to no store
			w.attempt(rt, "foreign", loner)
		}
	}
	lonerPath := "/users/" + string(w.users["LONER"].ID)
	w.do("PATCH", lonerPath, loner, object{"role": "ADMIN"}).refused(app.CodeLastOwner)
	w.do("DELETE", lonerPath, loner, nil).refused(app.CodeLastOwner)
	w.do("POST", "/users", loner, altered(grace("STAFF"), object{"email": "staff@example.com"})).
		refused(app.CodeConflict)
	w.do("POST", "/users", loner, grace("STAFF", w.stores["sibling"].id)).refused(app.CodeStoreMismatch)
	w.do("POST", "/api-keys", loner, altered(apiKeyBody(), object{"scopes": []string{}})).
		refused(app.CodeValidationFailed)
	w.do("POST", "/webhooks", loner, altered(webhookBody(), object{"url": "http://example.com"})).
		refused(app.CodeValidationFailed)
	w.do("POST", "/auth/accept-invite", "", accept(invitation.Token, "short")).refused(app.CodeValidationFailed)
	w.do("POST", "/auth/accept-invite", "", accept("unknown", goodPassword)).refused(app.CodeTokenInvalid)
	w.do("POST", "/platform/websites", w.tokens["PLATFORM"], websiteBody("one.test")).refused(app.CodeConflict)
	w.do("PATCH", "/platform/websites/web_none", w.tokens["PLATFORM"], object{"plan": "GROW"}).refused(app.CodeNotFound)
	w.do("POST", "/auth/refresh", "", nil, withCookie("ses_none.0.x")).refused(app.CodeTokenInvalid)
	if after := w.trail("true"); len(after) != before {
		t.Errorf("entries after refused actions: got %d, want %d", len(after), before)
	}
}

// The response to a failed login does not wait for the audit trail.
func TestLoginDoesNotWaitForTheAuditTrail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withPassword("ada", nil, "own")
	lock, err := sql.Open("pgx", w.db.OwnerURL)
	w.must(err)
	t.Cleanup(func() { lock.Close() })
	tx, err := lock.BeginTx(t.Context(), nil)
	w.must(err)
	_, err = tx.ExecContext(t.Context(), "LOCK TABLE audit")
	w.must(err)
	for range 3 {
		w.do("POST", "/auth/login", "", credentials("ada@example.com", "wrong")).refused(app.CodeInvalidCredentials)
	}
	w.must(tx.Rollback())
	if lines := w.trail("action = 'login.failed'"); len(lines) != 3 {
		t.Errorf("entries of failed logins: got %d, want 3", len(lines))
	}
}

// A failed login that finds no free place in the background is logged instead.
func TestTooManyFailures(t *testing.T) {
	t.Parallel()
	b := newBackground(1)
	hold := make(chan struct{})
	second := func(context.Context) { t.Error("a second function runs, want one") }
	if !b.run("a", func(context.Context) { <-hold }) || b.run("b", second) {
		t.Error("places: got none or more than one, want one")
	}
	close(hold)
	b.wait()
	if !b.run("a", func(context.Context) {}) {
		t.Error("run after the end of the first function: got false, want true")
	}
	b.wait()

	w := newWorld(t)
	w.withPassword("ada", nil, "own")
	w.server.failures = newBackground(0)
	w.do("POST", "/auth/login", "", credentials("ada@example.com", "wrong")).refused(app.CodeInvalidCredentials)
	if log := w.log.lines("error"); len(log) != 1 || !strings.Contains(log[0], string(w.users["ada"].ID)) {
		t.Errorf("log of a failed login without a place: got %s, want one line with the id of the user", log)
	}
}
