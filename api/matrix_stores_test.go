package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// The response about a resource of a store to which the caller could switch is STORE_MISMATCH. That about a resource of
// any other store is the response about an unknown id (docs/behaviour.md#resources-of-another-store).
func TestOtherStores(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	with := 0
	attempt := string(w.attemptOf(w.stores["own"]))
	for _, rt := range routes() {
		if (app.Permissions[rt.Permission].Role == "" || rt.guarded()) && strings.Contains(rt.Path, "{id}") {
			continue // platform administrators have no store, customers no other one, sessions belong to no store
		}
		if !strings.Contains(rt.Path, "{id}") {
			if rt.Handler.resource != "" {
				t.Errorf("%s: got the resource %q, want none without {id}", rt.Path, rt.Handler.resource)
			}
			continue
		}
		if rt.Handler.resource == "" {
			t.Errorf("%s: got no resource, want one for {id}", rt.Path)
		}
		with++
		pattern := strings.NewReplacer("{attemptId}", attempt, "{replayId}", "rpl_0199f1c2",
			"{itemId}", "itm_0199f1c2").Replace(rt.Path)
		unknown := w.do(rt.Method, strings.Replace(pattern, "{id}", "ord_0199f1c2", 1)+query(rt), w.tokens["OWNER"],
			w.body(rt)).
			refused(app.CodeNotFound).same()
		for name, path := range map[string]string{"of no form": "%27%20or%201=1", "too long": strings.Repeat("a", 65),
			"encoded": "a%2Fb", "dots": "...", "NUL": "%00"} {
			a := w.do(rt.Method, strings.Replace(pattern, "{id}", path, 1)+query(rt), w.tokens["OWNER"], w.body(rt)).
				refused(app.CodeNotFound)
			if a.same() != unknown {
				t.Errorf("%s: id %s: got %s, want %s", a.what, name, a.same(), unknown)
			}
			if rt.Idempotent {
				w.do(rt.Method, strings.Replace(pattern, "{id}", path, 1)+query(rt), w.tokens["OWNER"], w.body(rt),
					header("Idempotency-Key", "once")).refused(app.CodeNotFound)
			}
		}
		for caller, hidden := range map[string][]string{"OWNER": {"foreign"}, "LONER": {"sibling", "foreign"},
			"FOREIGN": {"own", "sibling"}} {
			for _, store := range hidden {
				a := w.attempt(rt, store, w.tokens[caller]).refused(app.CodeNotFound)
				if a.same() != unknown {
					t.Errorf("%s: %s about %s: got %s, want %s", a.what, caller, store, a.same(), unknown)
				}
			}
		}
		w.attempt(rt, "sibling", w.tokens["OWNER"]).refused(app.CodeStoreMismatch)
		w.attempt(rt, "sibling", w.token("OWNER", w.stores["sibling"].id)).ok(rt.Status, nil)
	}
	if with < 5 {
		t.Errorf("routes with {id}: got %d, want at least 5", with)
	}
}

// Lists contain only resources of the token's store.
func TestListsShowOneStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for path, id := range map[string]func(*shop) string{
		"/webhooks":                  func(s *shop) string { return string(s.webhook.ID) },
		"/deliveries":                func(s *shop) string { return string(s.delivery.ID) },
		"/events?type=order.created": func(s *shop) string { return string(s.delivery.EventID) },
		"/orders":                    func(s *shop) string { return string(s.order.ID) },
		"/products":                  func(s *shop) string { return string(s.product.ID) },
		"/customers":                 func(s *shop) string { return string(*s.order.Customer.ID) },
		"/api-keys":                  func(s *shop) string { return string(s.key.ID) },
		"/replays":                   func(s *shop) string { return string(s.replay.ID) },

		"/reservations": func(s *shop) string { return string(s.reservation.ID) },
	} {
		for store, token := range map[string]string{
			"own": w.tokens["OWNER"], "sibling": w.token("OWNER", w.stores["sibling"].id),
			"foreign": w.tokens["FOREIGN"],
		} {
			var rows []struct{ ID string }
			w.do("GET", path, token, nil).ok(200, &rows)
			if len(rows) != 1 || rows[0].ID != id(w.stores[store]) {
				t.Errorf("%s of %s: got %+v, want %s only", path, store, rows, id(w.stores[store]))
			}
		}
	}
}

// A storeId in the query or the body must be the token's store.
func TestNamedStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	taking := 0
	w.exec("UPDATE customers SET phone = '+4930123456' WHERE id = $1", w.stores["own"].order.Customer.ID)
	for _, rt := range routes() {
		if rt.Handler.withStore == nil {
			continue
		}
		taking++
		for store, want := range map[string]app.Code{"own": "", "sibling": app.CodeStoreMismatch,
			"foreign": app.CodeStoreMismatch} {
			id := w.stores[store].id
			a := (*response)(nil)
			switch {
			case rt.Method == "GET":
				a = w.do(rt.Method,
					strings.Replace(fmt.Sprintf("%s%s&storeId=%s", rt.Path, query(rt), id), rt.Path+"&", rt.Path+"?",
						1), w.tokens["OWNER"], nil)
			case rt.Path == "/products/import":
				rows := []any{altered(productBody(), object{"sku": "P1"})}
				a = w.do(rt.Method, fmt.Sprintf("%s?storeId=%s", rt.Path, id), w.tokens["OWNER"], rows)
			default:
				body := map[string]map[string]any{"/orders": w.orderBody("own"), "/orders/quote": w.orderBody("own"),
					"/webhooks": webhookBody(), "/products": productBody(), "/reservations": reservationBody()}[rt.Path]
				body["storeId"] = id
				a = w.do(rt.Method, rt.Path, w.tokens["OWNER"], body)
			}
			if want == "" {
				a.ok(rt.Status, nil)
			} else {
				a.refused(want)
			}
		}
	}
	if taking < 5 {
		t.Errorf("routes with a storeId: got %d, want at least 5", taking)
	}
}

// Changes of the role and of the membership apply to the next request.
func TestRoleChangesApplyToTheNextRequest(t *testing.T) {
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
