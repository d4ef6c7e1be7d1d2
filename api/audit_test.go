package api

import (
	"database/sql"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

const somewhere = "198.51.100.23"

// trail returns the lines of all stores for which the condition holds.
func (w *world) trail(where string, args ...any) (lines []line) {
	w.Helper()
	w.server.Close() // failed logins are noted beside the answer
	rows, err := w.db.System().DB.QueryContext(w.Context(), `SELECT store_id, action, actor_realm, actor_id, target, details::text, address, request_id
		FROM audit WHERE `+where, args...)
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

// state is what deeds change, in one word.
func (w *world) state() string {
	w.Helper()
	w.server.Close()
	var parts []string
	for _, table := range []string{
		"users", "memberships", "invitations", "sessions", "customer_sessions", "api_keys", "idempotency_keys",
		"websites", "stores", "subscriptions", "deliveries", "audit", "orders", "payments", "refunds",
	} {
		parts = append(parts, table+" "+w.text(`SELECT coalesce(md5(string_agg(t::text, '|' ORDER BY t::text)), '') FROM `+table+` t`))
	}
	return strings.Join(parts, "\n")
}

// TestDeedsLeaveTheirLines: each leaves exactly its lines, with who, whom, from where and by
// which request. When a line cannot be written, nothing is done.
func TestDeedsLeaveTheirLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	role := app.PlatformAdmin
	w.withPassword("ada", nil, "own", "sibling")
	w.withPassword("disabled", nil, "own")
	w.withPassword("moved", nil, "sibling")
	w.withPassword("root", &role)
	w.exec("UPDATE users SET disabled_at = $1 WHERE id = $2", noon, w.users["disabled"].ID)
	w.createKey(w.tokens["OWNER"], object{"mode": "test"}) // there is a sandbox, which is told nothing
	schema, err := sql.Open("pgx", w.db.OwnerURL)
	w.must(err)
	t.Cleanup(func() { schema.Close() })
	alter := func(how string) {
		t.Helper()
		w.server.Close()
		_, err := schema.ExecContext(t.Context(), "ALTER TABLE audit "+how)
		w.must(err)
	}
	told := map[app.AuditAction]bool{}
	for name, prepare := range w.deeds() {
		d := prepare()
		before := w.state()
		if d.status < 400 || strings.Contains(name, "reuse") {
			alter("ADD CONSTRAINT broken CHECK (false) NOT VALID")
			if a := d.act(); a.Code == http.StatusInternalServerError {
				if diff := cmp.Diff(before, w.state()); diff != "" {
					t.Errorf("%s without its line has an effect: %s", name, diff)
				}
			} else if d.lines(a) != nil {
				t.Errorf("%s without its line: %d", name, a.Code)
			}
			alter("DROP CONSTRAINT broken")
		}
		a := d.act()
		if a.Code != d.status {
			t.Errorf("%s: %d %s", name, a.Code, a.Body)
			continue
		}
		want := d.lines(a)
		for i := range want {
			want[i].address, want[i].request = somewhere, a.Header().Get("X-Request-Id")
			told[want[i].action] = true
		}
		got := w.trail("request_id = $1", a.Header().Get("X-Request-Id"))
		byStore := func(a, b line) int { return strings.Compare(a.store+string(a.action), b.store+string(b.action)) }
		slices.SortFunc(got, byStore)
		slices.SortFunc(want, byStore)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(line{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if len(told) < 15 {
		t.Errorf("the test makes only %d kinds of lines", len(told))
	}
	whole := w.text("SELECT string_agg(a::text, ' ') FROM audit a")
	for _, secret := range []string{password, goodPassword, "swordfish", webhookSecret, "svc_live_sk_", "secret/path", "argon2"} {
		if strings.Contains(whole, secret) {
			t.Errorf("%q is in the trail", secret)
		}
	}
}

// TestRefusedDeedsLeaveNone, save for logins: what was not done is not told.
func TestRefusedDeedsLeaveNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, owner, loner := w.stores["own"], w.tokens["OWNER"], w.tokens["LONER"]
	w.exec("UPDATE memberships SET role = 'STAFF' WHERE store_id = $1 AND role = 'OWNER' AND user_id <> $2", own.id, w.users["LONER"].ID)
	token := w.do("POST", "/users", loner, grace("STAFF")).ok(201, nil)
	var invitation invitationOut
	w.must(json.Unmarshal(token.body.Data, &invitation))
	before := len(w.trail("true"))
	w.do("POST", "/deliveries/"+string(own.delivery.ID)+"/replay", loner, nil).refused(app.CodeDeliveryInProgress)
	for _, rt := range routes() {
		if rt.method == "GET" || !rt.byAccessToken() || app.Permissions[rt.permission].Role == "" {
			continue
		}
		if rt.permission != app.EndOwnTenantLogin && rt.permission != app.SwitchStore && rt.permission != app.WriteOrders && rt.permission != app.WriteReservations {
			w.attempt(rt, "own", owner).refused(app.CodeInsufficientRole) // STAFF by now
		}
		if strings.Contains(rt.path, "{id}") {
			w.attempt(rt, "foreign", loner)
		}
	}
	lonerPath := "/users/" + string(w.users["LONER"].ID)
	w.do("PATCH", lonerPath, loner, object{"role": "ADMIN"}).refused(app.CodeLastOwner)
	w.do("DELETE", lonerPath, loner, nil).refused(app.CodeLastOwner)
	w.do("POST", "/users", loner, altered(grace("STAFF"), object{"email": "staff@example.com"})).refused(app.CodeConflict)
	w.do("POST", "/users", loner, grace("STAFF", w.stores["sibling"].id)).refused(app.CodeStoreMismatch)
	w.do("POST", "/api-keys", loner, altered(apiKeyBody(), object{"scopes": []string{}})).refused(app.CodeValidationFailed)
	w.do("POST", "/webhooks", loner, altered(webhookBody(), object{"url": "http://example.com"})).refused(app.CodeValidationFailed)
	w.do("POST", "/auth/accept-invite", "", accept(invitation.Token, "short")).refused(app.CodeValidationFailed)
	w.do("POST", "/auth/accept-invite", "", accept("unknown", goodPassword)).refused(app.CodeTokenInvalid)
	w.do("POST", "/platform/websites", w.tokens["PLATFORM"], websiteBody("one.test")).refused(app.CodeConflict)
	w.do("PATCH", "/platform/websites/web_none", w.tokens["PLATFORM"], object{"plan": "GROW"}).refused(app.CodeNotFound)
	w.do("POST", "/auth/refresh", "", nil, withCookie("ses_none.0.x")).refused(app.CodeTokenInvalid)
	if after := w.trail("true"); len(after) != before {
		t.Errorf("%d lines became %d", before, len(after))
	}
}

// TestNobodyWaitsForTheTrail: a failed login is answered while the trail is out of reach.
func TestNobodyWaitsForTheTrail(t *testing.T) {
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
		t.Errorf("%d lines of 3 failures", len(lines))
	}
}

// TestTooManyFailures: what there is no place for is in the log instead.
func TestTooManyFailures(t *testing.T) {
	t.Parallel()
	b := newBackground(1)
	hold := make(chan struct{})
	if !b.run(func() { <-hold }) || b.run(func() { t.Error("run without a place") }) {
		t.Error("there is not exactly one place")
	}
	close(hold)
	b.wait()
	if !b.run(func() {}) {
		t.Error("a place was not given back")
	}
	b.wait()

	w := newWorld(t)
	w.withPassword("ada", nil, "own")
	w.server.failures = newBackground(0)
	w.do("POST", "/auth/login", "", credentials("ada@example.com", "wrong")).refused(app.CodeInvalidCredentials)
	if log := w.log.lines("error"); len(log) != 1 || !strings.Contains(log[0], string(w.users["ada"].ID)) {
		t.Errorf("the log: %s", log)
	}
}

// TestAuditTrail reads what was written: names, filters, pages, and one store alone.
func TestAuditTrail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := w.tokens["OWNER"]
	w.now = noon.Add(time.Minute)
	key, _ := w.createKey(owner, object{"name": "Hooks", "scopes": []string{"webhooks:manage"}})
	w.now = w.now.Add(time.Minute)
	hook := w.here("POST", "/webhooks", key.Key, webhookBody()).ok(201, nil)
	w.now = w.now.Add(time.Minute)
	w.do("PATCH", "/platform/websites/"+string(w.stores["own"].website), w.tokens["PLATFORM"], object{"plan": "GROW"}).ok(200, nil)

	read := func(token, query string) (entries []app.AuditEntry) {
		t.Helper()
		w.do("GET", "/audit?"+query, token, nil).ok(200, &entries)
		return entries
	}
	since := "from=" + url.QueryEscape(noon.Add(time.Minute).Format(time.RFC3339)) + "&"
	at := func(d time.Duration) app.Time { return app.At(noon.Add(time.Minute + d)) }
	all := read(owner, since)
	want := []app.AuditEntry{
		{
			Action: app.AuditPlanChanged, Actor: app.AuditActor{Realm: app.RealmPlatform, ID: string(w.users["PLATFORM"].ID)},
			Target: string(w.stores["own"].website), Details: map[string]any{"from": "ENTERPRISE", "to": "GROW"}, At: at(2 * time.Minute),
		},
		{
			Action: app.AuditWebhookCreated, Actor: app.AuditActor{Realm: app.RealmAPIKey, ID: string(key.ID), Name: "Hooks"},
			Target: hook.dataID(), Details: map[string]any{"host": "example.com", "events": []any{"order.created"}}, At: at(time.Minute),
		},
		{
			Action: app.AuditAPIKeyCreated, Actor: app.AuditActor{Realm: app.RealmTenant, ID: string(w.users["OWNER"].ID), Name: "owner@example.com"},
			Target: string(key.ID), Details: map[string]any{"mode": "live", "name": "Hooks", "scopes": []any{"webhooks:manage"}}, At: at(0),
		},
	}
	if len(all) != 3 || all[1].Address != somewhere || string(all[1].RequestID) != hook.Header().Get("X-Request-Id") {
		t.Fatalf("read %+v", all)
	}
	for i := range want {
		want[i].ID, want[i].Address, want[i].RequestID = all[i].ID, all[i].Address, all[i].RequestID
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
	for query, want := range map[string][]app.AuditEntry{
		"action=webhook.created": all[1:2], "action=refund.issued": {}, "actorId=" + string(key.ID): all[1:2], "target=" + string(key.ID): all[2:],
		"target=" + string(key.ID) + "&action=webhook.created":        {},
		"to=" + url.QueryEscape(at(time.Minute).Format(time.RFC3339)): all[2:],
		"storeId=" + string(w.stores["own"].id):                       all,
	} {
		if diff := cmp.Diff(want, read(owner, since+query)); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}

	whole := read(owner, "limit=100")
	if !slices.ContainsFunc(whole, func(e app.AuditEntry) bool { return e.Action == app.AuditWebhookCreated && e.Actor == app.AuditActor{} }) {
		t.Error("no deed of the service itself")
	}
	var pages []app.AuditEntry
	for cursor, more := "", true; more; {
		var page []app.AuditEntry
		a := w.do("GET", "/audit?limit=3"+cursor, owner, nil).ok(200, &page)
		pages = append(pages, page...)
		var next string
		next, more = a.body.Meta["nextCursor"].(string)
		cursor = "&cursor=" + next
		if more {
			w.do("GET", "/audit?action=logout"+cursor, owner, nil).refused(app.CodeValidationFailed, "cursor")
			w.do("GET", "/users?"+cursor, owner, nil).refused(app.CodeValidationFailed, "cursor")
		}
	}
	if diff := cmp.Diff(whole, pages); diff != "" || len(whole) < 7 {
		t.Errorf("%d lines in pages: %s", len(whole), diff)
	}

	// The sibling store shows what concerns the whole website, and nothing else of it.
	if seen := read(w.token("OWNER", w.stores["sibling"].id), since); len(seen) != 2 || seen[0].Action != app.AuditLoginSucceeded && seen[1].Action != app.AuditLoginSucceeded {
		t.Errorf("the sibling store shows %+v", seen)
	}
	if seen := read(w.tokens["FOREIGN"], since); len(seen) != 0 {
		t.Errorf("a foreign store shows %+v", seen)
	}
	for query, path := range map[string]string{
		"action=sleep": "action", "actorId=%27": "actorId", "target=a%20b": "target", "from=yesterday": "from", "limit=0": "limit", "limit=101": "limit",
		"cursor=x": "cursor", "page=1": "page", "from=2026-03-14T12:00:00Z&to=2026-03-14T12:00:00Z": "to", "action=logout&action=logout": "action",
	} {
		w.do("GET", "/audit?"+query, owner, nil).refused(app.CodeValidationFailed, path)
	}
	w.do("GET", "/audit", w.key("own", app.Scopes[:]...), nil).refused(app.CodeInsufficientScope)
}
