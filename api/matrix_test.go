package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/comanda-dev/comanda/app"
)

// permitted lists, by hand, the callers of each route: the spec's permission table with the additions of contract §3.
var permitted = map[string]string{
	"POST /auth/login":           "everybody",
	"POST /auth/refresh":         "refresh cookie",
	"POST /auth/switch-store":    "OWNER ADMIN MANAGER STAFF",
	"POST /auth/logout":          "OWNER ADMIN MANAGER STAFF PLATFORM",
	"GET /auth/me":               "OWNER ADMIN MANAGER STAFF PLATFORM",
	"GET /auth/stores":           "OWNER ADMIN MANAGER STAFF",
	"POST /auth/accept-invite":   "everybody",
	"POST /auth/password":        "OWNER ADMIN MANAGER STAFF PLATFORM",
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

	"GET /customer-auth/sessions":         "CUSTOMER",
	"DELETE /customer-auth/sessions":      "CUSTOMER",
	"DELETE /customer-auth/sessions/{id}": "CUSTOMER",
	"POST /customer-auth/password":        "CUSTOMER",
	"POST /customer-auth/email":           "CUSTOMER",
	"POST /customer-auth/email/confirm":   "everybody",
	"POST /customer-auth/social/link":     "CUSTOMER",
	"GET /users":                          "OWNER",
	"POST /users":                         "OWNER",
	"PATCH /users/{id}":                   "OWNER",
	"DELETE /users/{id}":                  "OWNER",
	"GET /invitations":                    "OWNER",
	"POST /invitations/{id}/resend":       "OWNER",
	"DELETE /invitations/{id}":            "OWNER",
	"POST /customer-auth/register":        "everybody",
	"POST /customer-auth/login":           "everybody",
	"POST /customer-auth/social":          "everybody",
	"POST /customer-auth/logout":          "CUSTOMER",
	"POST /customer-auth/refresh":         "refresh cookie",
	"POST /api-keys":                      "OWNER",
	"GET /api-keys":                       "OWNER",
	"POST /api-keys/{id}/revoke":          "OWNER",
	"GET /audit":                          "OWNER",
	"POST /webhooks":                      "OWNER ADMIN",
	"GET /webhooks":                       "OWNER ADMIN",
	"GET /webhooks/event-types":           "OWNER ADMIN",
	"GET /webhooks/{id}":                  "OWNER ADMIN",
	"GET /webhooks/{id}/deliveries":       "OWNER ADMIN",
	"GET /events":                         "OWNER ADMIN",
	"GET /events/stream":                  "OWNER ADMIN",
	"GET /events/{id}":                    "OWNER ADMIN",
	"GET /deliveries":                     "OWNER ADMIN",
	"GET /deliveries/{id}":                "OWNER ADMIN",
	"POST /deliveries/{id}/replay":        "OWNER ADMIN",
	"POST /deliveries/{id}/retry":         "OWNER ADMIN",
	"POST /orders":                        "OWNER ADMIN MANAGER STAFF",
	"GET /orders/{id}":                    "OWNER ADMIN MANAGER STAFF CUSTOMER",
	"POST /orders/{id}/payments":          "OWNER ADMIN MANAGER STAFF",
	"GET /orders/{id}/payments":           "OWNER ADMIN MANAGER STAFF CUSTOMER",
	"GET /payments":                       "OWNER ADMIN MANAGER STAFF",
	"POST /payments/{id}/refunds":         "OWNER ADMIN MANAGER",
	"GET /products":                       "OWNER ADMIN MANAGER STAFF",
	"GET /orders":                         "OWNER ADMIN MANAGER STAFF CUSTOMER",
	"POST /orders/quote":                  "OWNER ADMIN MANAGER STAFF",
	"GET /orders/stream":                  "OWNER ADMIN MANAGER STAFF",
	"PATCH /orders/{id}/status":           "OWNER ADMIN MANAGER STAFF",
	"GET /orders/{id}/history":            "OWNER ADMIN MANAGER STAFF CUSTOMER",
	"GET /orders/{id}/deliveries":         "OWNER ADMIN MANAGER STAFF",
	"POST /products":                      "OWNER ADMIN MANAGER",
	"GET /products/categories":            "OWNER ADMIN MANAGER STAFF",
	"GET /products/{id}":                  "OWNER ADMIN MANAGER STAFF",
	"PATCH /products/{id}":                "OWNER ADMIN MANAGER",
	"POST /products/{id}/stock":           "OWNER ADMIN MANAGER",
	"POST /products/import":               "OWNER ADMIN MANAGER",
	"DELETE /products/{id}":               "OWNER ADMIN",
	"GET /platform/audit":                 "PLATFORM",
	"GET /platform/websites":              "PLATFORM",
	"POST /platform/websites":             "PLATFORM",
	"PATCH /platform/websites/{id}":       "PLATFORM",

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
	"POST /webhooks/{id}/rotate-secret":         "OWNER ADMIN",
	"GET /webhooks/{id}/stats":                  "OWNER ADMIN",
	"GET /webhooks/{id}/deliveries/{attemptId}": "OWNER ADMIN",

	"POST /reservations":                           "OWNER ADMIN MANAGER STAFF",
	"GET /reservations":                            "OWNER ADMIN MANAGER STAFF",
	"GET /reservations/seats":                      "OWNER ADMIN MANAGER STAFF",
	"GET /reservations/{id}":                       "OWNER ADMIN MANAGER STAFF",
	"PATCH /reservations/{id}":                     "OWNER ADMIN MANAGER STAFF",
	"DELETE /reservations/{id}":                    "OWNER ADMIN",
	"PATCH /reservations/{id}/status":              "OWNER ADMIN MANAGER STAFF",
	"GET /analytics/summary":                       "OWNER ADMIN",
	"GET /analytics/sales":                         "OWNER ADMIN",
	"GET /analytics/products":                      "OWNER ADMIN",
	"GET /analytics/options":                       "OWNER ADMIN",
	"GET /analytics/customers":                     "OWNER ADMIN",
	"GET /settings":                                "OWNER ADMIN",
	"PATCH /settings":                              "OWNER ADMIN",
	"GET /website":                                 "OWNER ADMIN",
	"PATCH /website":                               "OWNER",
	"GET /billing":                                 "OWNER",
	"PATCH /billing":                               "OWNER",
	"GET /customers":                               "OWNER ADMIN MANAGER CUSTOMER",
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

// attempt sends a valid request to a route. {id} is the id of a row of the store.
func (w *world) attempt(rt route, store, token string) *answer {
	w.Helper()
	s := w.stores[store]
	ids := map[string]string{
		"webhooks": string(s.webhook.ID), "deliveries": string(s.delivery.ID), "orders": string(s.order.ID),
		"reservations": string(s.reservation.ID), "api-keys": string(s.key.ID), "platform": string(s.website),
		"replays": string(s.replay.ID), "events": string(s.delivery.EventID),
	}
	if strings.HasPrefix(rt.Path, "/users/") {
		ids["users"] = string(w.addMember(s.id))
	}
	if strings.HasPrefix(rt.Path, "/store/views/") {
		ids["store"] = string(w.addView(s.id))
	}
	if strings.HasPrefix(rt.Path, "/invitations/") {
		ids["invitations"] = string(w.addInvitation(s.id))
	}
	if rt.Path == "/deliveries/{id}/replay" {
		w.must(w.db.EndDelivery(w.Context(), noon, s.delivery.ID, app.DeliveryDeadLetter, "test"))
	}
	if rt.Path == "/deliveries/{id}/retry" {
		w.recordOf(s.delivery.ID, 1, app.AttemptRetrying, 503)
		// Another route may have ended or queued it.
		w.exec("UPDATE deliveries SET status = 'retrying', attempts = 1, ended_at = NULL WHERE id = $1", s.delivery.ID)
	}
	if rt.Method+" "+rt.Path == "DELETE /webhooks/{id}" {
		ids["webhooks"] = string(w.addWebhook(s.id))
	}
	if strings.HasPrefix(rt.Path, "/products/") {
		ids["products"] = string(w.addProduct(s.id))
	}
	if strings.HasPrefix(rt.Path, "/payments/") {
		ids["payments"] = string(w.pay(s, 1000).ID)
	}
	if strings.HasSuffix(rt.Path, "/sessions/{id}") { // the caller's
		ids["auth"] = sessionNamed(token)
		ids["customer-auth"] = ids["auth"]
	}
	if strings.HasPrefix(rt.Path, "/auth/otp") {
		w.prepareOTP(rt)
	}
	if confirmed[rt.Path] {
		w.exec("UPDATE users SET password_hash = $1", weakHash(w.T))
		w.exec("UPDATE customers SET password_hash = $1 WHERE kind = 'registered'", weakHash(w.T))
	}
	ids["customers"] = string(s.order.Customer.ID)
	if rt.Method+" "+rt.Path == "DELETE /customers/{id}" {
		if store != "a customer's" { // others need the customer again
			ids["customers"] = string(w.addGuest(s.id))
		}
		w.exec("UPDATE orders SET status = 'COMPLETED' WHERE customer_id = $1", ids["customers"])
		w.exec("UPDATE customers SET password_hash = '' WHERE id = $1", ids["customers"])
	}
	if rt.Method+" "+rt.Path == "DELETE /reservations/{id}" {
		ids["reservations"] = string(w.addEndedReservation(s.id))
	}
	path := strings.Replace(rt.Path, "{id}", ids[strings.Split(rt.Path, "/")[1]], 1)
	path = strings.Replace(path, "{replayId}", string(s.replay.ID), 1)
	if before, after, found := strings.Cut(path, "{attemptId}"); found {
		path = before + string(w.attemptOf(s)) + after
	}
	if before, found := strings.CutSuffix(path, "{invitationId}"); found {
		path = before + string(w.addOwnerInvitation(s.id))
	}
	if before, found := strings.CutSuffix(path, "{addressId}"); found {
		path = before + string(w.addAddress(s.id, s.order.Customer.ID).ID)
	}
	return w.do(rt.Method, path+query(rt), token, w.body(rt))
}

// sessionNamed returns the session of an access token, or an unknown session for other credentials.
func sessionNamed(token string) string {
	var c jwt.MapClaims
	if _, _, err := jwt.NewParser().ParseUnverified(token, &c); err != nil {
		return "ses_none"
	}
	session, _ := c["sid"].(string)
	return session
}

// confirmed lists the paths of operations that confirm the caller's password. weakHash is its hash.
var confirmed = map[string]bool{
	"/auth/password": true, "/customer-auth/password": true, "/auth/otp": true, "/auth/otp/recovery-codes": true,
}

// query returns the required query parameters of a route.
func query(rt route) string {
	if strings.HasPrefix(rt.Path, "/analytics/") {
		return "?from=2026-03-14&to=2026-03-14"
	}
	if rt.Path == "/reservations/seats" {
		return "?date=2026-03-14"
	}
	return ""
}

// body returns a valid body for a route, nil if the route has no body.
func (w *world) body(rt route) any {
	switch rt.Method + " " + rt.Path {
	case "POST /auth/login":
		return map[string]any{"email": "nobody@example.com", "password": "x"}
	case "POST /auth/switch-store":
		return map[string]any{"storeId": w.stores["own"].id}
	case "POST /customer-auth/login":
		return altered(credentials("nobody@example.com", "x"), object{"storeId": w.stores["own"].id})
	case "POST /customer-auth/social":
		// but the website has no client ids
		return object{"storeId": w.stores["own"].id, "provider": "google", "token": noIDToken}
	case "POST /customer-auth/social/link":
		return object{"provider": "google", "token": noIDToken}
	case "POST /customer-auth/register":
		return registration("sto_none")
	case "POST /platform/websites":
		return websiteBody(strings.TrimPrefix(string(app.NewID[app.WebsiteID](noon)), "web_") + ".test")
	case "PATCH /platform/websites/{id}":
		return object{"plan": app.PlanGrow}
	case "POST /platform/websites/{id}/stores":
		return storeBody()
	case "POST /platform/websites/{id}/invite-owner":
		return object{"email": "owner@example.org", "name": "Ada", "storeId": w.stores["own"].id}
	case "POST /api-keys":
		return apiKeyBody()
	case "POST /auth/password", "POST /customer-auth/password":
		return object{"currentPassword": "x", "newPassword": goodPassword}
	case "POST /auth/otp", "DELETE /auth/otp", "POST /auth/otp/recovery-codes":
		return object{"password": "x"}
	case "POST /auth/otp/confirm":
		return object{"code": w.code(otpSecret, 0)}
	case "POST /auth/password-reset":
		return object{"email": "nobody@example.com"}
	case "POST /customer-auth/email":
		return object{"email": "new@example.com", "password": "x"}
	case "POST /customer-auth/email/confirm":
		return object{"token": "unknown"}
	case "POST /customer-auth/password-reset":
		return object{"email": "nobody@example.com", "storeId": "sto_none"}
	case "POST /auth/password-reset/confirm", "POST /customer-auth/password-reset/confirm":
		return object{"token": "unknown", "password": goodPassword}
	case "POST /auth/accept-invite":
		return map[string]any{"token": "unknown", "password": "a password of somebody"}
	case "POST /users":
		return map[string]any{"email": "new@example.com", "name": "New", "role": "STAFF"}
	case "PATCH /store":
		return object{"countryCode": "DE"}
	case "POST /store/pause":
		return object{"until": noon.Add(time.Hour)}
	case "POST /store/views":
		return viewBody(string(app.NewID[app.StoreViewID](noon))[5:])
	case "PATCH /store/views/{id}":
		return object{"locale": "de-AT"}
	case "POST /stores":
		return storeBody()
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
	case "PATCH /reservations/{id}":
		return object{"notes": "A high chair."}
	case "PATCH /website":
		return object{"social": object{"google": []string{"web"}}}
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
	case "POST /products/import":
		return []any{object{"sku": "P1", "name": "Another name", "priceMinor": 1, "currency": "EUR"}}
	case "POST /products/{id}/stock":
		return object{"set": 5}
	case "PATCH /products/{id}":
		return object{"name": "Another name"}
	}
	return nil
}

// withoutEffect lists the operations that refuse [world.attempt] even for permitted callers, and their errors.
var withoutEffect = map[string]app.Code{
	"POST /auth/login": app.CodeInvalidCredentials, "POST /customer-auth/login": app.CodeInvalidCredentials,
	"POST /customer-auth/register": app.CodeNotFound,
	"POST /auth/accept-invite":     app.CodeTokenInvalid,

	"POST /auth/password-reset/confirm":          app.CodeTokenInvalid,
	"POST /customer-auth/password-reset/confirm": app.CodeTokenInvalid,
	"POST /customer-auth/email/confirm":          app.CodeTokenInvalid,

	// Customers may call it, but the server has no mail server.
	"POST /customer-auth/email": app.CodeUnavailable,

	"POST /customer-auth/social": app.CodeValidationFailed,
	// Customers may call it, but the website has no client ids.
	"POST /customer-auth/social/link": app.CodeValidationFailed,
}

// withoutEffect checks the response of an operation that every caller may attempt.
func (a *answer) withoutEffect(rt route) {
	a.t.Helper()
	if code, refused := withoutEffect[rt.Method+" "+rt.Path]; refused {
		a.refused(code)
		return
	}
	a.ok(rt.Status, nil)
}

func TestRolesOfRoutes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if len(permitted) != len(routes()) {
		t.Errorf("routes: got %d, want %d as in permitted", len(routes()), len(permitted))
	}
	strangers := map[string]string{
		"no credential": "", "an API key": "svc_live_sk_" + strings.Repeat("0f", 16), "a customer": w.customerToken(),
	}
	for i, rt := range routes() {
		who, known := permitted[rt.Method+" "+rt.Path]
		if !known {
			t.Errorf("%s %s: got no entry in permitted, want one", rt.Method, rt.Path)
			continue
		}
		for name, token := range strangers {
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
			a := w.attempt(rt, "own", w.token(name, w.stores["own"].id)) // a separate session, because one of the routes ends it
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
