package api

import (
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/comanda-dev/comanda/app"
)

// attempt sends a valid request to a route. {id} is the id of a row of the store.
func (w *world) attempt(rt route, store, token string, changes ...func(*http.Request)) *response {
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
		// An earlier attempt may have queued it.
		w.exec("UPDATE deliveries SET status = 'dead_letter', ended_at = $1 WHERE id = $2", noon, s.delivery.ID)
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
	if strings.HasPrefix(rt.Path, "/auth/otp") || rt.Path == "/auth/reauthenticate" {
		w.prepareOTP(rt)
	}
	if confirmed[rt.Path] {
		w.exec("UPDATE users SET password_hash = $1", quickHash(w.T, "x"))
		w.exec("UPDATE customers SET password_hash = $1 WHERE kind = 'registered'", quickHash(w.T, "x"))
	}
	ids["customers"] = string(*s.order.Customer.ID)
	if rt.Path == "/customers/lookup" {
		w.exec("UPDATE customers SET phone = '+4930123456' WHERE id = $1", *s.order.Customer.ID)
	}
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
	path = strings.Replace(path, "{itemId}", string(s.order.Items[0].ID), 1)
	if before, found := strings.CutSuffix(path, "{invitationId}"); found {
		path = before + string(w.addOwnerInvitation(s.id))
	}
	if before, found := strings.CutSuffix(path, "{addressId}"); found {
		path = before + string(w.addAddress(s.id, *s.order.Customer.ID).ID)
	}
	return w.do(rt.Method, path+query(rt), token, w.body(rt), changes...)
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

// confirmed lists the paths of operations that confirm the caller's password.
var confirmed = map[string]bool{
	"/auth/password": true, "/customer-auth/password": true, "/customer-auth/email": true, "/auth/otp": true,
	"/auth/otp/recovery-codes": true, "/auth/reauthenticate": true,
}

// query returns the required query parameters of a route.
func query(rt route) string {
	if strings.HasPrefix(rt.Path, "/analytics/") || rt.Path == "/payments/summary" {
		return "?from=2026-03-14&to=2026-03-14"
	}
	if rt.Path == "/orders/{id}/changes" {
		return "?since=1"
	}
	if rt.Path == "/customers/lookup" {
		return "?phone=%2B4930123456"
	}
	if rt.Path == "/reservations/seats" {
		return "?date=2026-03-14"
	}
	if rt.Path == "/reservations/slots" {
		return "?date=2026-03-14&partySize=2"
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
	case "POST /auth/otp", "DELETE /auth/otp", "POST /auth/otp/recovery-codes", "POST /auth/reauthenticate":
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
	case "POST /webhooks/filter-test":
		return object{"filter": "true", "eventIds": []any{w.stores["own"].delivery.EventID}}
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
	case "PATCH /orders/{id}":
		return object{"note": "Ring"}
	case "PUT /orders/{id}/items/{itemId}/done":
		return object{"done": true}
	case "POST /orders/{id}/printed":
		return object{"version": 1}
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
	case "POST /products/{id}/sold-out":
		return object{"until": w.now.Add(time.Hour)}
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
func (a *response) withoutEffect(rt route) {
	a.t.Helper()
	if code, refused := withoutEffect[rt.Method+" "+rt.Path]; refused {
		a.refused(code)
		return
	}
	a.ok(rt.Status, nil)
}
