package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// permitted is the spec's permission table and contract §3's additions a second time, by
// hand, for the routes that there are: who may call what.
var permitted = map[string]string{
	"POST /auth/login":              "everybody",
	"GET /auth/me":                  "OWNER ADMIN MANAGER STAFF PLATFORM",
	"POST /customer-auth/register":  "everybody",
	"POST /customer-auth/login":     "everybody",
	"POST /customer-auth/social":    "everybody",
	"POST /customer-auth/logout":    "CUSTOMER",
	"POST /webhooks":                "OWNER ADMIN",
	"GET /webhooks":                 "OWNER ADMIN",
	"GET /webhooks/{id}":            "OWNER ADMIN",
	"GET /webhooks/{id}/deliveries": "OWNER ADMIN",
	"GET /deliveries":               "OWNER ADMIN",
	"GET /deliveries/{id}":          "OWNER ADMIN",
	"POST /deliveries/{id}/replay":  "OWNER ADMIN",
	"POST /orders":                  "OWNER ADMIN MANAGER STAFF",
	"GET /orders/{id}":              "OWNER ADMIN MANAGER STAFF CUSTOMER",
	"GET /products":                 "OWNER ADMIN MANAGER STAFF",
}

// attempt is a valid request of a route; {id} is that of a store's row.
func (w *world) attempt(rt route, store, token string) *answer {
	w.Helper()
	s := w.stores[store]
	ids := map[string]string{"webhooks": string(s.webhook.ID), "deliveries": string(s.delivery.ID), "orders": string(s.order.ID)}
	path := strings.Replace(rt.path, "{id}", ids[strings.Split(rt.path, "/")[1]], 1)
	var body any
	switch rt.method + " " + rt.path {
	case "POST /auth/login":
		body = map[string]any{"email": "nobody@example.com", "password": "x"}
	case "POST /customer-auth/login":
		body = altered(credentials("nobody@example.com", "x"), object{"storeId": s.id})
	case "POST /customer-auth/social":
		body = object{"storeId": s.id, "provider": "google", "token": noIDToken} // and no provider is offered
	case "POST /customer-auth/register":
		body = registration("sto_none")
	case "POST /webhooks":
		body = webhookBody()
	case "POST /orders":
		body = w.orderBody("own")
	case "POST /deliveries/{id}/replay":
		w.must(w.db.EndDelivery(w.Context(), noon, s.delivery.ID, app.DeliveryDeadLetter, "test"))
	}
	return w.do(rt.method, path, token, body)
}

// withoutEffect says how those operations refuse an attempt that everybody may make.
var withoutEffect = map[string]app.Code{
	"POST /auth/login": app.CodeInvalidCredentials, "POST /customer-auth/login": app.CodeInvalidCredentials, "POST /customer-auth/register": app.CodeNotFound,
	"POST /customer-auth/social": app.CodeValidationFailed,
}

func TestWhoMayCallWhat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if len(permitted) != len(routes()) {
		t.Errorf("%d routes, %d in the copy by hand", len(routes()), len(permitted))
	}
	strangers := map[string]string{"no credential": "", "an API key": "svc_live_sk_" + strings.Repeat("0f", 16), "a customer": w.customerToken()}
	for i, rt := range routes() {
		who, known := permitted[rt.method+" "+rt.path]
		if !known {
			t.Errorf("%s %s is not in the copy by hand", rt.method, rt.path)
			continue
		}
		for name, token := range strangers {
			want := app.CodeTokenInvalid
			if who == "everybody" {
				want = withoutEffect[rt.method+" "+rt.path]
			}
			a := w.attempt(rt, "own", token)
			a.what += " by " + name
			a.refused(want)
		}
		for _, name := range []string{"OWNER", "ADMIN", "MANAGER", "STAFF", "PLATFORM"} {
			a := w.attempt(rt, "own", w.tokens[name])
			a.what += " by " + name
			switch {
			case who == "everybody":
				a.refused(withoutEffect[rt.method+" "+rt.path])
			case strings.Contains(who, name):
				a.ok(rt.status, nil)
			case name == "PLATFORM" || who == "CUSTOMER":
				a.refused(app.CodeTokenInvalid)
			default:
				a.refused(app.CodeInsufficientRole)
			}
		}
		customer := w.addCustomer("own", fmt.Sprintf("%d@example.com", i))
		own := *w.stores["own"]
		own.order = w.orderOf("own", customer.Customer.ID)
		w.stores["a customer's"] = &own
		a := w.attempt(rt, "a customer's", customer.AccessToken)
		a.what += " by a customer"
		switch {
		case who == "everybody":
			a.refused(withoutEffect[rt.method+" "+rt.path])
		case strings.Contains(who, "CUSTOMER"):
			a.ok(rt.status, nil)
		default:
			a.refused(app.CodeTokenInvalid)
		}
	}
}

// customerToken is a token as the customer realm might have it, signed with the key of the
// tenants' realm.
func (w *world) customerToken() string {
	c := w.claims("STAFF", w.stores["own"].id)
	c.Audience = app.RealmCustomer
	tokens := w.server.tokens
	tokens.access = map[app.Realm][]app.DerivedKey{app.RealmCustomer: tokens.access[app.RealmTenant]}
	token, err := tokens.mint(w.now, c)
	w.must(err)
	return token
}

// TestOtherStores: a row of a store to which the caller could switch is STORE_MISMATCH, any
// other does not exist: the same bytes as for an id that nobody has (contract §2).
func TestOtherStores(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	with := 0
	for _, rt := range routes() {
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
		unknown := w.do(rt.method, strings.Replace(rt.path, "{id}", "ord_0199f1c2", 1), w.tokens["OWNER"], nil).refused(app.CodeNotFound).same()
		for name, path := range map[string]string{"of no form": "%27%20or%201=1", "too long": strings.Repeat("a", 65), "encoded": "a%2Fb", "dots": "...", "NUL": "%00"} {
			a := w.do(rt.method, strings.Replace(rt.path, "{id}", path, 1), w.tokens["OWNER"], nil).refused(app.CodeNotFound)
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
		"/products":   func(s *shop) string { return string(s.product.ID) },
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
		if rt.endpoint.withStore < 0 || rt.permission == public {
			continue
		}
		taking++
		for store, want := range map[string]app.Code{"own": "", "sibling": app.CodeStoreMismatch, "foreign": app.CodeStoreMismatch} {
			id := w.stores[store].id
			a := (*answer)(nil)
			if rt.method == "GET" {
				a = w.do(rt.method, fmt.Sprintf("%s?storeId=%s", rt.path, id), w.tokens["OWNER"], nil)
			} else {
				body := map[string]map[string]any{"/orders": w.orderBody("own"), "/webhooks": webhookBody()}[rt.path]
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
