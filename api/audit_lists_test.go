package api

import (
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// The audit trail of a store has filters and pages, and contains entries of this store only.
func TestAuditTrail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := w.tokens["OWNER"]
	w.now = noon.Add(time.Minute)
	key, _ := w.createKey(owner, object{"name": "Hooks", "scopes": []string{"webhooks:manage"}})
	w.now = w.now.Add(time.Minute)
	hook := w.here("POST", "/webhooks", key.Key, webhookBody()).ok(201, nil)
	w.now = w.now.Add(time.Minute)
	w.do("PATCH", "/platform/websites/"+string(w.stores["own"].website), w.tokens["PLATFORM"], object{"plan": "GROW"}).
		ok(200, nil)

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
			Action: app.AuditPlanChanged,
			Actor:  app.AuditActor{Realm: app.RealmPlatform, ID: string(w.users["PLATFORM"].ID)},
			Target: string(w.stores["own"].website), Details: map[string]any{"from": "ENTERPRISE", "to": "GROW"},
			At: at(2 * time.Minute),
		},
		{
			Action: app.AuditWebhookCreated,
			Actor:  app.AuditActor{Realm: app.RealmAPIKey, ID: string(key.ID), Name: "Hooks"},
			Target: hook.dataID(), Details: map[string]any{"host": "example.com", "events": []any{"order.created"}},
			At: at(time.Minute),
		},
		{
			Action:  app.AuditAPIKeyCreated,
			Actor:   app.AuditActor{Realm: app.RealmTenant, ID: string(w.users["OWNER"].ID), Name: "owner@example.com"},
			Target:  string(key.ID),
			Details: map[string]any{"mode": "live", "name": "Hooks", "scopes": []any{"webhooks:manage"}}, At: at(0),
		},
	}
	if len(all) != 3 || all[1].Address != somewhere || string(all[1].RequestID) != hook.Header().Get("X-Request-Id") {
		t.Fatalf("entries: got %+v, want 3, the second with the address and id of its request", all)
	}
	for i := range want {
		want[i].ID, want[i].Address, want[i].RequestID = all[i].ID, all[i].Address, all[i].RequestID
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	for query, want := range map[string][]app.AuditEntry{
		"action=webhook.created": all[1:2], "action=refund.issued": {}, "actorId=" + string(key.ID): all[1:2],
		"target=" + string(key.ID):                                    all[2:],
		"target=" + string(key.ID) + "&action=webhook.created":        {},
		"to=" + url.QueryEscape(at(time.Minute).Format(time.RFC3339)): all[2:],
		"storeId=" + string(w.stores["own"].id):                       all,
	} {
		w.run(query, func(t *testing.T) {
			if diff := cmp.Diff(want, read(owner, since+query)); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		})
	}

	whole := read(owner, "limit=100")
	anonymous := func(e app.AuditEntry) bool {
		return e.Action == app.AuditWebhookCreated && e.Actor == app.AuditActor{}
	}
	if !slices.ContainsFunc(whole, anonymous) {
		t.Errorf("entries: got %+v, want one of a webhook without an actor", whole)
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
		t.Errorf("pages of %d entries, want at least 7 (-want +got):\n%s", len(whole), diff)
	}

	// The sibling store shows the entries of the whole website, and no other entries of the first store.
	if seen := read(w.token("OWNER", w.stores["sibling"].id), since); len(seen) != 2 ||
		seen[0].Action != app.AuditLoginSucceeded && seen[1].Action != app.AuditLoginSucceeded {
		t.Errorf("entries of the sibling store: got %+v, want two, one of them a login", seen)
	}
	if seen := read(w.tokens["FOREIGN"], since); len(seen) != 0 {
		t.Errorf("entries of a foreign store: got %+v, want none", seen)
	}
	for query, path := range map[string]string{
		"action=sleep": "action", "actorId=%27": "actorId", "target=a%20b": "target", "from=yesterday": "from",
		"limit=0": "limit", "limit=101": "limit",
		"cursor=x": "cursor", "page=1": "page", "from=2026-03-14T12:00:00Z&to=2026-03-14T12:00:00Z": "to",
		"action=logout&action=logout": "action",
	} {
		w.run(query, func(t *testing.T) {
			w.do("GET", "/audit?"+query, owner, nil).refused(app.CodeValidationFailed, path)
		})
	}
	w.do("GET", "/audit", w.key("own", app.Scopes[:]...), nil).refused(app.CodeInsufficientScope)
}

// The entries of customers appear in a store's trail only on request.
func TestAuditTrailByRealm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := w.tokens["OWNER"]
	w.customerLogin("ada@example.com")
	w.do("POST", "/customer-auth/login", "", altered(credentials("ada@example.com", "wrong"),
		object{"storeId": w.stores["own"].id})).refused(app.CodeInvalidCredentials)
	w.server.Close()
	read := func(query string) (realms map[app.Realm]int) {
		t.Helper()
		var entries []app.AuditEntry
		w.do("GET", "/audit?limit=100&"+query, owner, nil).ok(200, &entries)
		realms = map[app.Realm]int{}
		for _, e := range entries {
			realms[e.Actor.Realm]++
		}
		return realms
	}
	if got := read(""); got[app.RealmCustomer] != 0 || got[app.RealmTenant] == 0 {
		t.Errorf("entries by default: got %v, want those of tenants and none of customers", got)
	}
	if diff := cmp.Diff(map[app.Realm]int{app.RealmCustomer: 2}, read("realm=customer")); diff != "" {
		t.Errorf("entries of customers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[app.Realm]int{app.RealmCustomer: 1},
		read("realm=customer&action=login.failed")); diff != "" {
		t.Errorf("failed logins of customers (-want +got):\n%s", diff)
	}
	if got := read("realm=tenant"); len(got) != 1 || got[app.RealmTenant] == 0 {
		t.Errorf("entries of tenants: got %v, want only those of tenants", got)
	}
	w.do("GET", "/audit?realm=robot", owner, nil).refused(app.CodeValidationFailed, "realm")
}

// The platform's trail shows logins of its administrators and changes to websites, and no tenant can read it.
func TestPlatformAuditTrail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	role := app.PlatformAdmin
	w.withPassword("root", &role)
	w.now = noon.Add(time.Minute)
	w.here("POST", "/auth/login", "", credentials("root@example.com", "wrong")).refused(app.CodeInvalidCredentials)
	w.server.Close()
	w.now = w.now.Add(time.Minute)
	var in loginOut
	w.here("POST", "/auth/login", "", credentials("root@example.com", password)).ok(200, &in)
	w.now = w.now.Add(time.Minute)
	website := string(w.stores["foreign"].website)
	w.here("PATCH", "/platform/websites/"+website, in.AccessToken, object{"plan": "GROW"}).ok(200, nil)

	var all []app.AuditEntry
	since := "?from=" + url.QueryEscape(noon.Add(time.Minute).Format(time.RFC3339))
	w.do("GET", "/platform/audit"+since, in.AccessToken, nil).ok(200, &all)
	who := app.AuditActor{Realm: app.RealmPlatform, ID: string(w.users["root"].ID), Name: "root@example.com"}
	session, _ := claimsOf(t, in.AccessToken)["sid"].(string)
	want := []app.AuditEntry{
		{Action: app.AuditPlanChanged, Actor: who, Target: website, Details: map[string]any{"from": "ENTERPRISE",
			"to": "GROW"}},
		{Action: app.AuditLoginSucceeded, Actor: who, Target: session},
		{Action: app.AuditLoginFailed, Actor: app.AuditActor{Realm: app.RealmPlatform},
			Target: string(w.users["root"].ID), Details: map[string]any{"reason": "password"}},
	}
	if len(all) != len(want) {
		t.Fatalf("got %+v, want %d entries", all, len(want))
	}
	for i := range want {
		want[i].ID, want[i].RequestID, want[i].Address, want[i].At = all[i].ID, all[i].RequestID, somewhere, all[i].At
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	var page []app.AuditEntry
	a := w.do("GET", "/platform/audit"+since+"&limit=2", in.AccessToken, nil).ok(200, &page)
	next, _ := a.body.Meta["nextCursor"].(string)
	var rest []app.AuditEntry
	w.do("GET", "/platform/audit"+since+"&limit=2&cursor="+next, in.AccessToken, nil).ok(200, &rest)
	if diff := cmp.Diff(all, append(page, rest...)); diff != "" {
		t.Errorf("two pages (-want +got):\n%s", diff)
	}
	var failed []app.AuditEntry
	w.do("GET", "/platform/audit?action=login.failed&target="+string(w.users["root"].ID), in.AccessToken, nil).
		ok(200, &failed)
	if diff := cmp.Diff(all[2:], failed); diff != "" {
		t.Errorf("failed logins (-want +got):\n%s", diff)
	}
	w.do("GET", "/platform/audit", w.tokens["OWNER"], nil).refused(app.CodeTokenInvalid)
}
