package api

import (
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// customerCookie returns the refresh token in the cookie of a response.
func (a *response) customerCookie() string {
	a.t.Helper()
	value, attributes, _ := strings.Cut(a.Header().Get("Set-Cookie"), ";")
	name, token, _ := strings.Cut(value, "=")
	if name != customerCookie || attributes != " Path=/; Max-Age=604800; HttpOnly; Secure; SameSite=Strict" {
		a.t.Errorf("%s: cookie: got %q, want %s with its attributes", a.what, a.Header().Get("Set-Cookie"), customerCookie)
	}
	return token
}

func (w *world) customerLogin(email string) string {
	w.Helper()
	return w.do("POST", "/customer-auth/register", "",
		altered(registration(w.stores["own"].id), object{"email": email})).ok(201, nil).customerCookie()
}

func (w *world) customerRefresh(cookie string) *response {
	w.Helper()
	return w.do("POST", "/customer-auth/refresh", "", nil, header("Cookie", customerCookie+"="+cookie))
}

func TestCustomerRefresh(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.customerLogin("ada@example.com")
	a := w.customerRefresh(first)
	var out refreshOut
	second := a.ok(200, &out).customerCookie()
	// the token of a customer, who cannot read the orders of others
	w.do("GET", "/orders/"+string(w.stores["own"].order.ID), out.AccessToken, nil).refused(app.CodeNotFound)
	third := w.customerRefresh(second).ok(200, nil).customerCookie()

	// A superseded token ends all sessions of the customer, and no others.
	other := w.customerLogin("bob@example.com")
	w.customerRefresh(first).refused(app.CodeTokenRevoked)
	w.customerRefresh(third).refused(app.CodeTokenRevoked)
	w.do("POST", "/customer-auth/logout", out.AccessToken, nil).refused(app.CodeTokenRevoked)
	w.customerRefresh(other).ok(200, nil)
}

func TestCustomerRefreshRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cookie := w.customerLogin("ada@example.com")
	tenant := w.server.tokens.mintRefresh(app.RealmTenant, "ses_1", 0)
	for name, present := range map[string]func() *response{
		"none":       func() *response { return w.do("POST", "/customer-auth/refresh", "", nil) },
		"a tenant's": func() *response { return w.customerRefresh(tenant) },
		"twice":      func() *response { return w.customerRefresh(cookie + "; " + customerCookie + "=" + cookie) },
		"altered":    func() *response { return w.customerRefresh(cookie[:len(cookie)-1] + "_") },
		"as a tenant's": func() *response {
			return w.do("POST", "/auth/refresh", "", nil, header("Cookie", userCookie+"="+cookie))
		},
		"under its name": func() *response {
			return w.do("POST", "/customer-auth/refresh", "", nil, header("Cookie", userCookie+"="+cookie))
		},
	} {
		a := present()
		a.what += " with " + name
		a.refused(app.CodeTokenInvalid)
	}
	w.customerRefresh(cookie).ok(200, nil) // the requests above have raised no reuse alarm

	cookie = w.customerLogin("bob@example.com")
	w.exec("UPDATE customers SET disabled_at = now() WHERE email = 'bob@example.com'")
	w.customerRefresh(cookie).refused(app.CodeTokenRevoked)
	cookie = w.customerLogin("eve@example.com")
	w.now = w.now.Add(168 * time.Hour)
	w.customerRefresh(cookie).refused(app.CodeTokenRevoked)
}
