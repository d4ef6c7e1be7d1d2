package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// permitted lists, by hand, the callers of each route (docs/behaviour.md#roles-and-permissions).
var permitted = map[string]string{
	"POST /auth/login":           "everybody",
	"POST /auth/refresh":         "refresh cookie",
	"POST /auth/switch-store":    "OWNER ADMIN MANAGER STAFF",
	"POST /auth/logout":          "OWNER ADMIN MANAGER STAFF PLATFORM",
	"GET /auth/me":               "OWNER ADMIN MANAGER STAFF PLATFORM",
	"GET /auth/stores":           "OWNER ADMIN MANAGER STAFF",
	"POST /auth/accept-invite":   "everybody",
	"POST /auth/password":        "OWNER ADMIN MANAGER STAFF PLATFORM",
	"POST /auth/reauthenticate":  "OWNER ADMIN MANAGER STAFF PLATFORM",
	"GET /auth/sessions":         "OWNER ADMIN MANAGER STAFF PLATFORM",
	"DELETE /auth/sessions":      "OWNER ADMIN MANAGER STAFF PLATFORM",
	"DELETE /auth/sessions/{id}": "OWNER ADMIN MANAGER STAFF PLATFORM",

	"POST /auth/otp":                "OWNER ADMIN MANAGER STAFF PLATFORM",
	"DELETE /auth/otp":              "OWNER ADMIN MANAGER STAFF PLATFORM",
	"POST /auth/otp/confirm":        "OWNER ADMIN MANAGER STAFF PLATFORM",
	"POST /auth/otp/recovery-codes": "OWNER ADMIN MANAGER STAFF PLATFORM",

	"POST /auth/password-reset":                  "everybody",
	"POST /auth/password-reset/confirm":          "everybody",
	"POST /customer-auth/password-reset":         "everybody",
	"POST /customer-auth/password-reset/confirm": "everybody",

	"GET /customer-auth/sessions":          "CUSTOMER",
	"DELETE /customer-auth/sessions":       "CUSTOMER",
	"DELETE /customer-auth/sessions/{id}":  "CUSTOMER",
	"POST /customer-auth/password":         "CUSTOMER",
	"POST /customer-auth/email":            "CUSTOMER",
	"POST /customer-auth/email/confirm":    "everybody",
	"POST /customer-auth/social/link":      "CUSTOMER",
	"GET /users":                           "OWNER",
	"POST /users":                          "OWNER",
	"PATCH /users/{id}":                    "OWNER",
	"DELETE /users/{id}":                   "OWNER",
	"GET /invitations":                     "OWNER",
	"POST /invitations/{id}/resend":        "OWNER",
	"DELETE /invitations/{id}":             "OWNER",
	"POST /customer-auth/register":         "everybody",
	"POST /customer-auth/login":            "everybody",
	"POST /customer-auth/social":           "everybody",
	"POST /customer-auth/logout":           "CUSTOMER",
	"POST /customer-auth/refresh":          "refresh cookie",
	"POST /api-keys":                       "OWNER",
	"GET /api-keys":                        "OWNER",
	"POST /api-keys/{id}/revoke":           "OWNER",
	"GET /audit":                           "OWNER",
	"POST /webhooks":                       "OWNER ADMIN",
	"GET /webhooks":                        "OWNER ADMIN",
	"GET /webhooks/event-types":            "OWNER ADMIN",
	"GET /webhooks/{id}":                   "OWNER ADMIN",
	"GET /webhooks/{id}/deliveries":        "OWNER ADMIN",
	"GET /events":                          "OWNER ADMIN",
	"GET /events/stream":                   "OWNER ADMIN",
	"GET /events/{id}":                     "OWNER ADMIN",
	"GET /deliveries":                      "OWNER ADMIN",
	"GET /deliveries/{id}":                 "OWNER ADMIN",
	"POST /deliveries/{id}/replay":         "OWNER ADMIN",
	"POST /deliveries/{id}/retry":          "OWNER ADMIN",
	"POST /orders":                         "OWNER ADMIN MANAGER STAFF",
	"GET /orders/{id}":                     "OWNER ADMIN MANAGER STAFF CUSTOMER",
	"POST /orders/{id}/payments":           "OWNER ADMIN MANAGER STAFF",
	"GET /orders/{id}/payments":            "OWNER ADMIN MANAGER STAFF CUSTOMER",
	"GET /payments":                        "OWNER ADMIN MANAGER STAFF",
	"GET /payments/summary":                "OWNER ADMIN MANAGER",
	"POST /payments/{id}/refunds":          "OWNER ADMIN MANAGER",
	"GET /products":                        "OWNER ADMIN MANAGER STAFF",
	"GET /orders":                          "OWNER ADMIN MANAGER STAFF CUSTOMER",
	"POST /orders/quote":                   "OWNER ADMIN MANAGER STAFF",
	"GET /orders/stream":                   "OWNER ADMIN MANAGER STAFF",
	"PATCH /orders/{id}":                   "OWNER ADMIN MANAGER STAFF",
	"POST /orders/{id}/printed":            "OWNER ADMIN MANAGER STAFF",
	"PUT /orders/{id}/items/{itemId}/done": "OWNER ADMIN MANAGER STAFF",
	"GET /orders/{id}/changes":             "OWNER ADMIN MANAGER STAFF",
	"PATCH /orders/{id}/status":            "OWNER ADMIN MANAGER STAFF",
	"GET /orders/{id}/history":             "OWNER ADMIN MANAGER STAFF CUSTOMER",
	"GET /orders/{id}/deliveries":          "OWNER ADMIN MANAGER STAFF",
	"POST /products":                       "OWNER ADMIN MANAGER",
	"GET /products/categories":             "OWNER ADMIN MANAGER STAFF",
	"GET /products/{id}":                   "OWNER ADMIN MANAGER STAFF",
	"PATCH /products/{id}":                 "OWNER ADMIN MANAGER",
	"POST /products/{id}/stock":            "OWNER ADMIN MANAGER",
	"POST /products/import":                "OWNER ADMIN MANAGER",
	"POST /products/{id}/sold-out":         "OWNER ADMIN MANAGER",
	"DELETE /products/{id}":                "OWNER ADMIN",
	"GET /platform/audit":                  "PLATFORM",
	"GET /platform/websites":               "PLATFORM",
	"POST /platform/websites":              "PLATFORM",
	"PATCH /platform/websites/{id}":        "PLATFORM",

	"GET /platform/websites/{id}":               "PLATFORM",
	"POST /platform/websites/{id}/stores":       "PLATFORM",
	"POST /platform/websites/{id}/invite-owner": "PLATFORM",

	"DELETE /platform/websites/{id}/invitations/{invitationId}": "PLATFORM",

	"GET /store":               "OWNER ADMIN MANAGER STAFF",
	"PATCH /store":             "OWNER ADMIN",
	"POST /store/pause":        "OWNER ADMIN MANAGER STAFF",
	"POST /store/resume":       "OWNER ADMIN MANAGER STAFF",
	"POST /store/views":        "OWNER ADMIN",
	"PATCH /store/views/{id}":  "OWNER ADMIN",
	"DELETE /store/views/{id}": "OWNER ADMIN",
	"POST /stores":             "OWNER",

	"POST /webhooks/{id}/replay":            "OWNER ADMIN",
	"GET /webhooks/{id}/replays/{replayId}": "OWNER ADMIN",
	"POST /replays":                         "OWNER ADMIN",
	"GET /replays":                          "OWNER ADMIN",
	"GET /replays/{id}":                     "OWNER ADMIN",
	"POST /replays/{id}/cancel":             "OWNER ADMIN",

	"GET /dead-letters":                         "OWNER ADMIN",
	"PATCH /webhooks/{id}":                      "OWNER ADMIN",
	"DELETE /webhooks/{id}":                     "OWNER ADMIN",
	"POST /webhooks/{id}/test":                  "OWNER ADMIN",
	"POST /webhooks/filter-test":                "OWNER ADMIN",
	"POST /webhooks/{id}/rotate-secret":         "OWNER ADMIN",
	"GET /webhooks/{id}/stats":                  "OWNER ADMIN",
	"GET /webhooks/{id}/deliveries/{attemptId}": "OWNER ADMIN",

	"POST /reservations":                           "OWNER ADMIN MANAGER STAFF",
	"GET /reservations":                            "OWNER ADMIN MANAGER STAFF",
	"GET /reservations/seats":                      "OWNER ADMIN MANAGER STAFF",
	"GET /reservations/slots":                      "OWNER ADMIN MANAGER STAFF",
	"GET /reservations/{id}":                       "OWNER ADMIN MANAGER STAFF",
	"PATCH /reservations/{id}":                     "OWNER ADMIN MANAGER STAFF",
	"DELETE /reservations/{id}":                    "OWNER ADMIN",
	"PATCH /reservations/{id}/status":              "OWNER ADMIN MANAGER STAFF",
	"GET /analytics/summary":                       "OWNER ADMIN",
	"GET /analytics/sales":                         "OWNER ADMIN",
	"GET /analytics/products":                      "OWNER ADMIN",
	"GET /analytics/options":                       "OWNER ADMIN",
	"GET /analytics/channels":                      "OWNER ADMIN",
	"GET /analytics/customers":                     "OWNER ADMIN",
	"GET /settings":                                "OWNER ADMIN",
	"PATCH /settings":                              "OWNER ADMIN",
	"GET /website":                                 "OWNER ADMIN",
	"PATCH /website":                               "OWNER",
	"GET /billing":                                 "OWNER",
	"PATCH /billing":                               "OWNER",
	"GET /customers":                               "OWNER ADMIN MANAGER CUSTOMER",
	"GET /customers/lookup":                        "OWNER ADMIN MANAGER",
	"GET /customers/{id}":                          "OWNER ADMIN MANAGER CUSTOMER",
	"PATCH /customers/{id}":                        "OWNER ADMIN MANAGER CUSTOMER",
	"DELETE /customers/{id}":                       "OWNER ADMIN CUSTOMER",
	"GET /customers/{id}/export":                   "OWNER ADMIN CUSTOMER",
	"GET /customers/{id}/loyalty":                  "OWNER ADMIN MANAGER CUSTOMER",
	"GET /customers/{id}/addresses":                "OWNER ADMIN MANAGER CUSTOMER",
	"POST /customers/{id}/addresses":               "CUSTOMER",
	"PATCH /customers/{id}/addresses/{addressId}":  "CUSTOMER",
	"DELETE /customers/{id}/addresses/{addressId}": "CUSTOMER",
}

func TestRolesOfRoutes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if len(permitted) != len(routes()) {
		t.Errorf("routes: got %d, want %d as in permitted", len(routes()), len(permitted))
	}
	others := map[string]string{
		"no credential": "", "an API key": "svc_live_sk_" + strings.Repeat("0f", 16), "a customer": w.customerToken(),
	}
	for i, rt := range routes() {
		who, known := permitted[rt.Method+" "+rt.Path]
		if !known {
			t.Errorf("%s %s: got no entry in permitted, want one", rt.Method, rt.Path)
			continue
		}
		for name, token := range others {
			a := w.attempt(rt, "own", token)
			a.what += " by " + name
			if who == "everybody" {
				a.withoutEffect(rt)
				continue
			}
			want := app.CodeTokenInvalid
			a.refused(want)
		}
		for _, name := range []string{"OWNER", "ADMIN", "MANAGER", "STAFF", "PLATFORM"} {
			// A separate session, because one of the routes ends it.
			a := w.attempt(rt, "own", w.token(name, w.stores["own"].id))
			a.what += " by " + name
			switch {
			case who == "everybody":
				a.withoutEffect(rt)
			case who == "refresh cookie":
				a.refused(app.CodeTokenInvalid)
			case strings.Contains(who, name):
				a.ok(rt.Status, nil)
			case name == "PLATFORM", who == "CUSTOMER", strings.HasPrefix(rt.Path, "/platform/"):
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
		case who == "everybody", who == "CUSTOMER" && withoutEffect[rt.Method+" "+rt.Path] != "":
			a.withoutEffect(rt)
		case strings.Contains(who, "CUSTOMER"):
			a.ok(rt.Status, nil)
		default:
			a.refused(app.CodeTokenInvalid)
		}
	}
}

// TestRealmsFollowThePermissions compares the realms of each route with the grants of its permission.
func TestRealmsFollowThePermissions(t *testing.T) {
	t.Parallel()
	for _, rt := range routes() {
		grant := app.Permissions[rt.Permission]
		for realm, want := range map[app.Realm]bool{
			app.RealmTenant: grant.Role != "", app.RealmCustomer: grant.Own, app.RealmPlatform: grant.Platform,
			app.RealmAPIKey: false,
		} {
			if got := rt.accepts(realm); rt.byAccessToken() && got != want {
				t.Errorf("%s %s accepts realm %s: %t, want %t", rt.Method, rt.Path, realm, got, want)
			}
		}
		if want := map[bool]string{true: customerCookie,
			false: userCookie}[rt.accepts(app.RealmCustomer)]; !rt.byAccessToken() && rt.Cookie != want &&
			!strings.Contains(rt.Path, "/password-reset") && !strings.Contains(rt.Path, "/email") { // logs nobody in
			t.Errorf("%s %s: got cookie %q, want %q", rt.Method, rt.Path, rt.Cookie, want)
		}
	}
}

// customerToken returns an access token of a customer that does not exist.
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
