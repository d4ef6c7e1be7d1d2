package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// TestOtherStores: a row of a store to which the caller could switch is STORE_MISMATCH, any
// other does not exist: the same bytes as for an id that nobody has (contract §2).
func TestOtherStores(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	with := 0
	attempt := string(w.attemptOf(w.stores["own"]))
	for _, rt := range routes() {
		if app.Permissions[rt.permission].Role == "" && strings.Contains(rt.path, "{id}") {
			continue // platform administrators have no store, customers no other one
		}
		if !strings.Contains(rt.path, "{id}") {
			if rt.resource != "" {
				t.Errorf("%s has a resource and no {id}", rt.path)
			}
			continue
		}
		if rt.resource == "" {
			t.Errorf("%s has {id} and no resource", rt.path)
		}
		with++
		pattern := strings.Replace(rt.path, "{attemptId}", attempt, 1)
		unknown := w.do(rt.method, strings.Replace(pattern, "{id}", "ord_0199f1c2", 1), w.tokens["OWNER"], w.body(rt)).refused(app.CodeNotFound).same()
		for name, path := range map[string]string{"of no form": "%27%20or%201=1", "too long": strings.Repeat("a", 65), "encoded": "a%2Fb", "dots": "...", "NUL": "%00"} {
			a := w.do(rt.method, strings.Replace(pattern, "{id}", path, 1), w.tokens["OWNER"], w.body(rt)).refused(app.CodeNotFound)
			if a.same() != unknown {
				t.Errorf("%s: an id %s has another answer: %s", a.what, name, a.Body)
			}
		}
		for caller, hidden := range map[string][]string{"OWNER": {"foreign"}, "LONER": {"sibling", "foreign"}, "FOREIGN": {"own", "sibling"}} {
			for _, store := range hidden {
				a := w.attempt(rt, store, w.tokens[caller]).refused(app.CodeNotFound)
				if a.same() != unknown {
					t.Errorf("%s: %s learns of %s: %s", a.what, caller, store, a.Body)
				}
			}
		}
		w.attempt(rt, "sibling", w.tokens["OWNER"]).refused(app.CodeStoreMismatch)
		w.attempt(rt, "sibling", w.token("OWNER", w.stores["sibling"].id)).ok(rt.status, nil)
	}
	if with < 5 {
		t.Errorf("only %d routes with {id}", with)
	}
}

// TestListsShowOneStore: what a list shows is the token's store's.
func TestListsShowOneStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for path, id := range map[string]func(*shop) string{
		"/webhooks":   func(s *shop) string { return string(s.webhook.ID) },
		"/deliveries": func(s *shop) string { return string(s.delivery.ID) },
		"/orders":     func(s *shop) string { return string(s.order.ID) },
		"/products":   func(s *shop) string { return string(s.product.ID) },
		"/customers":  func(s *shop) string { return string(s.order.Customer.ID) },
		"/api-keys":   func(s *shop) string { return string(s.key.ID) },
		"/replays":    func(s *shop) string { return string(s.replay.ID) },

		"/reservations": func(s *shop) string { return string(s.reservation.ID) },
	} {
		for store, token := range map[string]string{
			"own": w.tokens["OWNER"], "sibling": w.token("OWNER", w.stores["sibling"].id), "foreign": w.tokens["FOREIGN"],
		} {
			var rows []struct{ ID string }
			w.do("GET", path, token, nil).ok(200, &rows)
			if len(rows) != 1 || rows[0].ID != id(w.stores[store]) {
				t.Errorf("%s of %s: %+v", path, store, rows)
			}
		}
	}
}

// TestNamedStore: a storeId in the query or the body must be the token's.
func TestNamedStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	taking := 0
	for _, rt := range routes() {
		if rt.endpoint.withStore < 0 {
			continue
		}
		taking++
		for store, want := range map[string]app.Code{"own": "", "sibling": app.CodeStoreMismatch, "foreign": app.CodeStoreMismatch} {
			id := w.stores[store].id
			a := (*answer)(nil)
			if rt.method == "GET" {
				a = w.do(rt.method, strings.Replace(fmt.Sprintf("%s%s&storeId=%s", rt.path, query(rt), id), rt.path+"&", rt.path+"?", 1), w.tokens["OWNER"], nil)
			} else {
				body := map[string]map[string]any{"/orders": w.orderBody("own"), "/orders/quote": w.orderBody("own"), "/webhooks": webhookBody(), "/products": productBody(), "/reservations": reservationBody()}[rt.path]
				body["storeId"] = id
				a = w.do(rt.method, rt.path, w.tokens["OWNER"], body)
			}
			if want == "" {
				a.ok(rt.status, nil)
			} else {
				a.refused(want)
			}
		}
	}
	if taking < 5 {
		t.Errorf("only %d routes take a storeId", taking)
	}
}

// TestWhatEndsASession: the role and the membership that count are the database's, at once.
func TestWhatEndsASession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	change := func(statement string, args ...any) {
		t.Helper()
		_, err := w.db.System().DB.ExecContext(t.Context(), statement, args...)
		w.must(err)
	}
	own := w.stores["own"].id
	change("UPDATE memberships SET role = 'STAFF' WHERE user_id = $1 AND store_id = $2", w.users["ADMIN"].ID, own)
	w.do("GET", "/webhooks", w.tokens["ADMIN"], nil).refused(app.CodeInsufficientRole)
	w.do("GET", "/products", w.tokens["ADMIN"], nil).ok(200, nil)

	change("DELETE FROM memberships WHERE user_id = $1 AND store_id = $2", w.users["MANAGER"].ID, own)
	w.do("GET", "/products", w.tokens["MANAGER"], nil).refused(app.CodeTokenRevoked)

	change("UPDATE users SET disabled_at = now() WHERE id = $1", w.users["STAFF"].ID)
	w.do("GET", "/products", w.tokens["STAFF"], nil).refused(app.CodeTokenRevoked)

	change("UPDATE sessions SET ended_at = now() WHERE user_id = $1", w.users["OWNER"].ID)
	w.do("GET", "/products", w.tokens["OWNER"], nil).refused(app.CodeTokenRevoked)

	change("UPDATE users SET platform_role = NULL WHERE id = $1", w.users["PLATFORM"].ID)
	w.do("GET", "/auth/me", w.tokens["PLATFORM"], nil).refused(app.CodeTokenRevoked)
}
