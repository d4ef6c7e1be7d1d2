package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

// permitted is the spec's permission table and contract §3's additions a second time, by
// hand, for the routes that there are: who may call what.
var permitted = map[string]string{
	"POST /auth/login":              "everybody",
	"POST /auth/refresh":            "whoever has the cookie",
	"POST /auth/switch-store":       "OWNER ADMIN MANAGER STAFF",
	"POST /auth/logout":             "OWNER ADMIN MANAGER STAFF PLATFORM",
	"GET /auth/me":                  "OWNER ADMIN MANAGER STAFF PLATFORM",
	"GET /auth/stores":              "OWNER ADMIN MANAGER STAFF",
	"POST /auth/accept-invite":      "everybody",
	"GET /users":                    "OWNER",
	"POST /users":                   "OWNER",
	"PATCH /users/{id}":             "OWNER",
	"DELETE /users/{id}":            "OWNER",
	"POST /customer-auth/register":  "everybody",
	"POST /customer-auth/login":     "everybody",
	"POST /customer-auth/social":    "everybody",
	"POST /customer-auth/logout":    "CUSTOMER",
	"POST /customer-auth/refresh":   "whoever has the cookie",
	"POST /api-keys":                "OWNER",
	"GET /api-keys":                 "OWNER",
	"POST /api-keys/{id}/revoke":    "OWNER",
	"GET /audit":                    "OWNER",
	"POST /webhooks":                "OWNER ADMIN",
	"GET /webhooks":                 "OWNER ADMIN",
	"GET /webhooks/event-types":     "OWNER ADMIN",
	"GET /webhooks/{id}":            "OWNER ADMIN",
	"GET /webhooks/{id}/deliveries": "OWNER ADMIN",
	"GET /deliveries":               "OWNER ADMIN",
	"GET /deliveries/{id}":          "OWNER ADMIN",
	"POST /deliveries/{id}/replay":  "OWNER ADMIN",
	"POST /orders":                  "OWNER ADMIN MANAGER STAFF",
	"GET /orders/{id}":              "OWNER ADMIN MANAGER STAFF CUSTOMER",
	"POST /orders/{id}/payments":    "OWNER ADMIN MANAGER STAFF",
	"GET /orders/{id}/payments":     "OWNER ADMIN MANAGER STAFF CUSTOMER",
	"POST /payments/{id}/refunds":   "OWNER ADMIN MANAGER",
	"GET /products":                 "OWNER ADMIN MANAGER STAFF",
	"GET /orders":                   "OWNER ADMIN MANAGER STAFF CUSTOMER",
	"POST /orders/quote":            "OWNER ADMIN MANAGER STAFF",
	"GET /orders/stream":            "OWNER ADMIN MANAGER STAFF",
	"PATCH /orders/{id}/status":     "OWNER ADMIN MANAGER STAFF",
	"GET /orders/{id}/history":      "OWNER ADMIN MANAGER STAFF CUSTOMER",
	"POST /products":                "OWNER ADMIN MANAGER",
	"GET /products/categories":      "OWNER ADMIN MANAGER STAFF",
	"GET /products/{id}":            "OWNER ADMIN MANAGER STAFF",
	"PATCH /products/{id}":          "OWNER ADMIN MANAGER",
	"DELETE /products/{id}":         "OWNER ADMIN",
	"GET /platform/websites":        "PLATFORM",
	"POST /platform/websites":       "PLATFORM",
	"PATCH /platform/websites/{id}": "PLATFORM",

	"POST /webhooks/{id}/replay":            "OWNER ADMIN",
	"GET /webhooks/{id}/replays":            "OWNER ADMIN",
	"GET /webhooks/{id}/replays/{replayId}": "OWNER ADMIN",
	"POST /replays":                         "OWNER ADMIN",
	"GET /replays":                          "OWNER ADMIN",
	"GET /replays/{id}":                     "OWNER ADMIN",
	"POST /replays/{id}/cancel":             "OWNER ADMIN",

	"GET /dead-letters":                         "OWNER ADMIN",
	"PATCH /webhooks/{id}":                      "OWNER ADMIN",
	"DELETE /webhooks/{id}":                     "OWNER ADMIN",
	"POST /webhooks/{id}/test":                  "OWNER ADMIN",
	"POST /webhooks/{id}/rotate-secret":         "OWNER ADMIN",
	"GET /webhooks/{id}/stats":                  "OWNER ADMIN",
	"GET /webhooks/{id}/deliveries/{attemptId}": "OWNER ADMIN",

	"POST /reservations":                           "OWNER ADMIN MANAGER STAFF",
	"GET /reservations":                            "OWNER ADMIN MANAGER STAFF",
	"GET /reservations/seats":                      "OWNER ADMIN MANAGER STAFF",
	"GET /reservations/{id}":                       "OWNER ADMIN MANAGER STAFF",
	"PATCH /reservations/{id}/status":              "OWNER ADMIN MANAGER STAFF",
	"GET /analytics/summary":                       "OWNER ADMIN",
	"GET /analytics/sales":                         "OWNER ADMIN",
	"GET /analytics/products":                      "OWNER ADMIN",
	"GET /analytics/customers":                     "OWNER ADMIN",
	"GET /settings":                                "OWNER ADMIN",
	"PATCH /settings":                              "OWNER ADMIN",
	"GET /billing":                                 "OWNER",
	"PATCH /billing":                               "OWNER",
	"GET /customers":                               "OWNER ADMIN MANAGER CUSTOMER",
	"GET /customers/{id}":                          "OWNER ADMIN MANAGER CUSTOMER",
	"PATCH /customers/{id}":                        "OWNER ADMIN MANAGER CUSTOMER",
	"GET /customers/{id}/loyalty":                  "OWNER ADMIN MANAGER CUSTOMER",
	"GET /customers/{id}/addresses":                "OWNER ADMIN MANAGER CUSTOMER",
	"POST /customers/{id}/addresses":               "CUSTOMER",
	"PATCH /customers/{id}/addresses/{addressId}":  "CUSTOMER",
	"DELETE /customers/{id}/addresses/{addressId}": "CUSTOMER",
}

// attempt is a valid request of a route; {id} is that of a store's row.
func (w *world) attempt(rt route, store, token string) *answer {
	w.Helper()
	s := w.stores[store]
	ids := map[string]string{"webhooks": string(s.webhook.ID), "deliveries": string(s.delivery.ID), "orders": string(s.order.ID), "reservations": string(s.reservation.ID), "api-keys": string(s.key.ID), "platform": string(s.website), "replays": string(s.replay.ID)}
	if strings.HasPrefix(rt.path, "/users/") {
		ids["users"] = string(w.addMember(s.id))
	}
	if rt.path == "/deliveries/{id}/replay" {
		w.must(w.db.EndDelivery(w.Context(), noon, s.delivery.ID, app.DeliveryDeadLetter, "test"))
	}
	if rt.method+" "+rt.path == "DELETE /webhooks/{id}" {
		ids["webhooks"] = string(w.addWebhook(s.id))
	}
	if strings.HasPrefix(rt.path, "/products/") {
		ids["products"] = string(w.addProduct(s.id))
	}
	if strings.HasPrefix(rt.path, "/payments/") {
		ids["payments"] = string(w.pay(s, 1000).ID)
	}
	ids["customers"] = string(s.order.Customer.ID)
	path := strings.Replace(rt.path, "{id}", ids[strings.Split(rt.path, "/")[1]], 1)
	path = strings.Replace(path, "{replayId}", string(s.replay.ID), 1)
	if before, after, found := strings.Cut(path, "{attemptId}"); found {
		path = before + string(w.attemptOf(s)) + after
	}
	if before, found := strings.CutSuffix(path, "{addressId}"); found {
		path = before + string(w.addAddress(s.id, s.order.Customer.ID).ID)
	}
	return w.do(rt.method, path+query(rt), token, w.body(rt))
}

// query is what of a query a route cannot do without.
func query(rt route) string {
	if strings.HasPrefix(rt.path, "/analytics/") {
		return "?from=2026-03-14&to=2026-03-14"
	}
	if rt.path == "/reservations/seats" {
		return "?date=2026-03-14"
	}
	return ""
}

// body is a valid one for a route, nil if it takes none.
func (w *world) body(rt route) any {
	switch rt.method + " " + rt.path {
	case "POST /auth/login":
		return map[string]any{"email": "nobody@example.com", "password": "x"}
	case "POST /auth/switch-store":
		return map[string]any{"storeId": w.stores["own"].id}
	case "POST /customer-auth/login":
		return altered(credentials("nobody@example.com", "x"), object{"storeId": w.stores["own"].id})
	case "POST /customer-auth/social":
		return object{"storeId": w.stores["own"].id, "provider": "google", "token": noIDToken} // and no provider is offered
	case "POST /customer-auth/register":
		return registration("sto_none")
	case "POST /platform/websites":
		return websiteBody(strings.TrimPrefix(string(app.NewID[app.WebsiteID](noon)), "web_") + ".test")
	case "PATCH /platform/websites/{id}":
		return object{"plan": app.PlanGrow}
	case "POST /api-keys":
		return apiKeyBody()
	case "POST /auth/accept-invite":
		return map[string]any{"token": "unknown", "password": "a password of somebody"}
	case "POST /users":
		return map[string]any{"email": "new@example.com", "name": "New", "role": "STAFF"}
	case "PATCH /users/{id}":
		return map[string]any{"role": "ADMIN"}
	case "POST /webhooks/{id}/replay", "POST /replays":
		return object{"from": noon.Add(-time.Hour)}
	case "POST /webhooks":
		return webhookBody()
	case "PATCH /webhooks/{id}":
		return object{"isActive": true}
	case "POST /webhooks/{id}/rotate-secret":
		return object{"secret": webhookSecret}
	case "POST /reservations":
		return reservationBody()
	case "PATCH /reservations/{id}/status":
		return object{"status": "CONFIRMED"}
	case "PATCH /billing":
		return object{"plan": app.PlanEnterprise}
	case "PATCH /settings":
		return object{"seats": 80}
	case "POST /orders", "POST /orders/quote":
		return w.orderBody("own")
	case "PATCH /orders/{id}/status":
		return object{"status": "CONFIRMED"}
	case "POST /orders/{id}/payments":
		return paymentBody()
	case "POST /payments/{id}/refunds":
		return refundBody(1)
	case "PATCH /customers/{id}":
		return object{"firstName": string(app.NewID[app.CustomerID](noon))}
	case "POST /customers/{id}/addresses":
		return addressBody()
	case "PATCH /customers/{id}/addresses/{addressId}":
		return object{"city": "Rome"}
	case "POST /products":
		return productBody()
	case "PATCH /products/{id}":
		return object{"name": "Another name"}
	}
	return nil
}

// addWebhook makes one more webhook without telling anybody.
func (w *world) addWebhook(store app.StoreID) app.SubscriptionID {
	w.Helper()
	id := app.NewID[app.SubscriptionID](noon)
	w.exec(`INSERT INTO subscriptions (id, store_id, url, events, secret, created_at, updated_at)
		SELECT $1, store_id, url, events, secret, created_at, updated_at FROM subscriptions WHERE store_id = $2 AND deleted_at IS NULL LIMIT 1`, id, store)
	w.exec("INSERT INTO subscription_health (subscription_id, store_id) VALUES ($1, $2)", id, store)
	return id
}

// attemptOf returns an attempt of a store's webhook, made if there is none.
func (w *world) attemptOf(s *shop) app.AttemptID {
	w.Helper()
	for {
		made, _, err := w.db.Attempts(w.Context(), s.id, s.webhook.ID, app.AttemptFilter{}, 1, 1)
		w.must(err)
		if len(made) > 0 {
			return made[0].ID
		}
		test, err := w.db.CreateTest(w.Context(), noon, s.id, s.webhook.ID)
		w.must(err)
		outgoing, err := w.db.OutgoingTest(w.Context(), test)
		w.must(err)
		w.must(w.db.RecordTest(w.Context(), app.MadeAttempt{Outgoing: outgoing, Status: app.AttemptFailed, At: noon, Error: "a test's"}))
	}
}

// addProduct makes one more product, which cannot be ordered.
func (w *world) addProduct(store app.StoreID) app.ProductID {
	w.Helper()
	product, err := w.db.CreateProduct(w.Context(), noon, store, app.Product{Name: "One more", Currency: "EUR"}, nil, nil)
	w.must(err)
	return product.ID
}

// addMember makes a user who works in one store.
func (w *world) addMember(store app.StoreID) app.UserID {
	w.Helper()
	id, err := w.db.CreateUser(w.Context(), noon, persistence.NewUser{
		Email: string(app.NewID[app.UserID](noon)) + "@example.com", Name: "Member", PasswordHash: "-", Roles: map[app.StoreID]app.Role{store: app.RoleStaff},
	})
	w.must(err)
	return id
}

// withoutEffect says how those operations refuse an attempt that everybody may make.
var withoutEffect = map[string]app.Code{
	"POST /auth/login": app.CodeInvalidCredentials, "POST /customer-auth/login": app.CodeInvalidCredentials, "POST /customer-auth/register": app.CodeNotFound,
	"POST /auth/accept-invite":   app.CodeTokenInvalid,
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
			a := w.attempt(rt, "own", w.token(name, w.stores["own"].id)) // of its own: one of the routes ends it
			a.what += " by " + name
			switch {
			case who == "everybody":
				a.refused(withoutEffect[rt.method+" "+rt.path])
			case who == "whoever has the cookie":
				a.refused(app.CodeTokenInvalid)
			case strings.Contains(who, name):
				a.ok(rt.status, nil)
			case name == "PLATFORM", who == "CUSTOMER", strings.HasPrefix(rt.path, "/platform/"):
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

// scoped is the spec's table of scopes and contract §3's additions a second time, by hand,
// write:x implying read:x: with which scopes a key may call what. What is not in it no key
// may call.
var scoped = map[string]string{
	"POST /webhooks":                "webhooks:manage",
	"GET /webhooks":                 "webhooks:manage",
	"GET /webhooks/event-types":     "webhooks:manage",
	"GET /webhooks/{id}":            "webhooks:manage",
	"GET /webhooks/{id}/deliveries": "webhooks:manage",
	"GET /deliveries":               "webhooks:manage",
	"GET /deliveries/{id}":          "webhooks:manage",
	"POST /deliveries/{id}/replay":  "webhooks:manage",
	"POST /orders":                  "write:orders",
	"GET /orders/{id}":              "read:orders write:orders",
	"POST /orders/{id}/payments":    "write:orders",
	"GET /orders/{id}/payments":     "read:orders write:orders",
	"POST /payments/{id}/refunds":   "write:orders",
	"GET /customers":                "read:customers",
	"GET /customers/{id}":           "read:customers",
	"GET /customers/{id}/loyalty":   "read:customers",
	"GET /customers/{id}/addresses": "read:customers",
	"GET /products":                 "read:products write:products",

	"POST /webhooks/{id}/replay":            "webhooks:manage",
	"GET /webhooks/{id}/replays":            "webhooks:manage",
	"GET /webhooks/{id}/replays/{replayId}": "webhooks:manage",
	"POST /replays":                         "webhooks:manage",
	"GET /replays":                          "webhooks:manage",
	"GET /replays/{id}":                     "webhooks:manage",
	"POST /replays/{id}/cancel":             "webhooks:manage",

	"GET /dead-letters":                         "webhooks:manage",
	"PATCH /webhooks/{id}":                      "webhooks:manage",
	"DELETE /webhooks/{id}":                     "webhooks:manage",
	"POST /webhooks/{id}/test":                  "webhooks:manage",
	"POST /webhooks/{id}/rotate-secret":         "webhooks:manage",
	"GET /webhooks/{id}/stats":                  "webhooks:manage",
	"GET /webhooks/{id}/deliveries/{attemptId}": "webhooks:manage",

	"POST /products":            "write:products",
	"GET /products/categories":  "read:products write:products",
	"GET /products/{id}":        "read:products write:products",
	"PATCH /products/{id}":      "write:products",
	"DELETE /products/{id}":     "write:products",
	"GET /orders":               "read:orders write:orders",
	"POST /orders/quote":        "write:orders",
	"GET /orders/stream":        "read:orders write:orders",
	"PATCH /orders/{id}/status": "write:orders",
	"GET /orders/{id}/history":  "read:orders write:orders",

	"POST /reservations":              "write:reservations",
	"GET /reservations":               "read:reservations write:reservations",
	"GET /reservations/seats":         "read:reservations write:reservations",
	"GET /reservations/{id}":          "read:reservations write:reservations",
	"PATCH /reservations/{id}/status": "write:reservations",
	"GET /analytics/summary":          "read:analytics",
	"GET /analytics/sales":            "read:analytics",
	"GET /analytics/products":         "read:analytics",
	"GET /analytics/customers":        "read:analytics",
}

// TestWhatKeysMayCall: every route with every scope, for a row of the key's store and for
// those of others, which do not exist for a key, whoever made it.
func TestWhatKeysMayCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, scope := range app.Scopes {
		key := w.key("own", scope)
		for _, rt := range routes() {
			may := slices.Contains(strings.Fields(scoped[rt.method+" "+rt.path]), string(scope))
			for _, store := range []string{"own", "sibling", "foreign"} {
				a := w.attempt(rt, store, key)
				a.what += fmt.Sprintf(" of %s with %s", store, scope)
				switch {
				case rt.permission == public:
					a.refused(withoutEffect[rt.method+" "+rt.path])
				case rt.permission == byRefreshToken, app.Permissions[rt.permission].Role == "":
					a.refused(app.CodeTokenInvalid)
				case !may:
					a.refused(app.CodeInsufficientScope)
				case store != "own" && strings.Contains(rt.path, "{id}"):
					a.refused(app.CodeNotFound)
				default:
					a.ok(rt.status, nil)
				}
			}
		}
	}
}

// customerToken is a token as the customer realm might have it.
func (w *world) customerToken() string { return w.tokenOf(app.RealmCustomer) }

// tokenOf is a token of another realm, signed with the key of the tenants'.
func (w *world) tokenOf(realm app.Realm) string {
	c := w.claims("STAFF", w.stores["own"].id)
	c.Audience = realm
	tokens := w.server.tokens
	tokens.access = map[app.Realm][]app.DerivedKey{realm: tokens.access[app.RealmTenant]}
	token, err := tokens.mint(w.now, c)
	w.must(err)
	return token
}
