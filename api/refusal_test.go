package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

func plain80(r *http.Request) { r.TLS = nil }

// A request with all faults is refused for them one after the other, in the documented order
// (docs/behaviour.md#order-of-refusal).
func TestOrderOfRefusal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	big := strings.Repeat(" ", maxBody)
	unknown := `{"url":1,"extra":true`
	steps := []struct {
		want   app.Code
		method string
		path   string
		token  string
		body   string
		change []func(*http.Request)
	}{
		{
			app.CodeHTTPSRequired, "DELETE", "/nowhere", "x", unknown + big,
			[]func(*http.Request){plain80, mediaType("text/plain")},
		},
		{app.CodeNotFound, "DELETE", "/nowhere", "x", unknown + big, []func(*http.Request){mediaType("text/plain")}},
		{
			app.CodeMethodNotAllowed, "DELETE", "/webhooks", "x", unknown + big,
			[]func(*http.Request){mediaType("text/plain")},
		},
		{
			app.CodePayloadTooLarge, "POST", "/webhooks", "x", unknown + big,
			[]func(*http.Request){mediaType("text/plain")},
		},
		{
			app.CodeUnsupportedMediaType, "POST", "/webhooks", "x", unknown,
			[]func(*http.Request){mediaType("text/plain")},
		},
		{app.CodeValidationFailed, "POST", "/webhooks", "x", unknown, nil},
		{app.CodeTokenInvalid, "POST", "/webhooks", "x", unknown + "}", nil},
		{app.CodeInsufficientRole, "POST", "/webhooks", w.tokens["STAFF"], unknown + "}", nil},
		{app.CodeValidationFailed, "POST", "/webhooks", w.tokens["OWNER"], unknown + "}", nil},
	}
	for _, s := range steps {
		w.do(s.method, s.path, s.token, s.body, s.change...).refused(s.want)
	}
	login := map[string]any{"email": 1}
	w.do("POST", "/auth/login", "", `{"email":1`+big, header("Sec-Fetch-Site", "cross-site")).
		refused(app.CodeCrossOrigin)
	w.do("POST", "/auth/login", "", login).refused(app.CodeValidationFailed)
	strict := w.strict()
	w.exhaust(strict, "203.0.113.7")
	w.doOn(strict, "POST", "/auth/login", "", `{"email":`, from("203.0.113.7")).refused(app.CodeValidationFailed)
	w.doOn(strict, "POST", "/auth/login", "", login, from("203.0.113.7")).refused(app.CodeRateLimited)

	// The order is: validation, permission for the content, store, business rule.
	order := w.orderBody("own")
	order["storeId"], order["discountMinor"], order["note"] = w.stores["sibling"].id, 1, 7
	order["items"] = []any{map[string]any{"productId": "prd_none", "quantity": 1}}
	w.do("POST", "/orders", w.tokens["STAFF"], order).refused(app.CodeValidationFailed, "note")
	delete(order, "note")
	w.do("POST", "/orders", w.tokens["STAFF"], order).refused(app.CodeInsufficientRole)
	delete(order, "discountMinor")
	w.do("POST", "/orders", w.tokens["STAFF"], order).refused(app.CodeStoreMismatch)
	delete(order, "storeId")
	w.do("POST", "/orders", w.tokens["STAFF"], order).refused(app.CodeProductUnavailable)
	// The order is: existence, business rule.
	delete(order, "customer")
	order["customerId"], order["requestedFor"] = "cus_none", app.At(w.now.Add(-time.Hour))
	for _, path := range []string{"/orders", "/orders/quote"} {
		w.do("POST", path, w.tokens["STAFF"], order).refused(app.CodeValidationFailed, "customerId")
	}
	order["customerId"] = *w.stores["own"].order.Customer.ID
	for _, path := range []string{"/orders", "/orders/quote"} {
		w.do("POST", path, w.tokens["STAFF"], order).refused(app.CodeOutsideBookingWindow)
	}

	// The order is: validation, existence, business rule.
	w.do("GET", "/webhooks/whk_none/deliveries?page=0", w.tokens["OWNER"], nil).
		refused(app.CodeValidationFailed, "page")
	w.do("GET", "/webhooks/whk_none/deliveries?page=1", w.tokens["OWNER"], nil).refused(app.CodeNotFound)
	replay := "/deliveries/" + string(w.stores["own"].delivery.ID) + "/replay"
	w.do("POST", replay, w.tokens["OWNER"], `{"force":true}`).refused(app.CodeValidationFailed, "force")
	w.do("POST", replay, w.tokens["OWNER"], nil).refused(app.CodeDeliveryInProgress)
}

func mediaType(value string) func(*http.Request) {
	return func(r *http.Request) { r.Header["Content-Type"] = []string{value} }
}

func TestUnknownRoutesAndMethods(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, path := range []string{
		"/", "/nowhere", "/orders/", "//orders", "/orders//x", "/./orders", "/webhooks/../orders", "/orders/a/b",
		"/ORDERS", "/orders%2Fx", "/%6Frders",
		"/auth", "/auth/login/", "/docs/", "/docs/nothing.js", "/openapi.yaml/x",
	} {
		w.do("GET", path, w.tokens["OWNER"], nil).refused(app.CodeNotFound)
	}
	for request, allow := range map[string]string{
		"DELETE /orders": "GET, POST", "DELETE /orders/quote": "POST", "PUT /webhooks": "GET, POST",
		"POST /webhooks/x": "DELETE, GET, PATCH", "HEAD /products": "GET, POST",
		"OPTIONS /products": "GET, POST", "TRACE /auth/me": "GET", "get /auth/me": "GET",
		"POST /openapi.yaml": "GET, HEAD", "BREW /docs": "GET, HEAD",
		"PATCH /webhooks/event-types": "GET",
	} {
		w.run(request, func(t *testing.T) {
			method, path, _ := strings.Cut(request, " ")
			a := w.do(method, path, "", nil).refused(app.CodeMethodNotAllowed)
			if got := a.Header().Get("Allow"); got != allow {
				t.Errorf("Allow: got %q, want %q", got, allow)
			}
		})
	}
}

func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	login := map[string]any{"email": "nobody@example.com", "password": "x"}
	for name, c := range map[string]struct {
		want   app.Code
		change []func(*http.Request)
	}{
		"no browser": {app.CodeInvalidCredentials, nil},
		"same origin": {
			app.CodeInvalidCredentials, []func(*http.Request){header("Sec-Fetch-Site", "same-origin")},
		},
		"another site": {
			app.CodeCrossOrigin, []func(*http.Request){header("Sec-Fetch-Site", "cross-site")},
		},
		"a sibling host": {
			app.CodeCrossOrigin, []func(*http.Request){header("Sec-Fetch-Site", "same-site")},
		},
		"an old browser, same host": {app.CodeInvalidCredentials, []func(*http.Request){header("Origin", issuer)}},
		"an old browser, elsewhere": {
			app.CodeCrossOrigin, []func(*http.Request){header("Origin", "https://evil.test")},
		},
		"an opaque origin": {app.CodeCrossOrigin, []func(*http.Request){header("Origin", "null")}},
	} {
		w.run(name, func(t *testing.T) {
			w.do("POST", "/auth/login", "", login, c.change...).refused(c.want)
		})
	}
	w.do("GET", "/auth/me", w.tokens["OWNER"], nil, header("Sec-Fetch-Site", "cross-site")).ok(200, nil)
	w.do("POST", "/orders", w.tokens["OWNER"], w.orderBody("own"), header("Sec-Fetch-Site", "cross-site")).ok(201, nil)
}

// A panic or an unexpected error of a handler is logged, and the response does not show it.
func TestPanicsAndUnexpectedErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	within := func(timeout time.Duration, f func(ctx context.Context, c *call) error) *Server {
		s := w.serverOn(w.db.DB, func(c *Config) { c.Timeout = timeout })
		s.router = s.newRouter([]route{{
			Method: "GET", Path: "/auth/me", Realms: []app.Realm{app.RealmTenant}, Permission: app.ViewOwnTenantLogin,
			Status: 200,
			Handler: handle("test",
				func(_ *Server, ctx context.Context, c *call, _ noIn) (noIn, error) { return noIn{}, f(ctx, c) }),
		}}, true)
		return s
	}
	handler := func(f func(ctx context.Context, c *call) error) *Server { return within(0, f) }
	get := func(s *Server, change ...func(*http.Request)) *response {
		t.Helper()
		return w.doOn(s, "GET", "/auth/me", w.tokens["OWNER"], nil, change...)
	}
	secret := "the password is swordfish"

	a := get(handler(func(context.Context, *call) error { panic(secret) })).refused(app.CodeInternal)
	if strings.Contains(a.Body.String(), "swordfish") || strings.Contains(a.Body.String(), "goroutine") {
		t.Errorf("response to a panic: got %s, want neither its value nor its stack", a.Body)
	}
	if log := w.log.lines("error"); len(log) < 2 || !strings.Contains(log[0], "refusal_test.go") ||
		!strings.Contains(log[0], a.Header().Get("X-Request-Id")) {
		t.Errorf("log of a panic: got %s, want its stack and the request id", log)
	}
	a = get(handler(func(context.Context, *call) error { return errors.New(secret) })).refused(app.CodeInternal)
	if strings.Contains(a.Body.String(), "swordfish") ||
		!strings.Contains(a.Body.String(), a.Header().Get("X-Request-Id")) {
		t.Errorf("response to an internal error: got %s, want the request id without the error", a.Body)
	}
	a = get(handler(func(context.Context, *call) error {
		return fmt.Errorf("%w: %s", app.Unavailable(1100*time.Millisecond), secret)
	})).refused(app.CodeUnavailable)
	if strings.Contains(a.Body.String(), "swordfish") || a.Header().Get("Retry-After") != "2" {
		t.Errorf("response to an unavailable service: got %v %s, want Retry-After 2 without the cause", a.Header(),
			a.Body)
	}
	get(within(50*time.Millisecond, func(ctx context.Context, _ *call) error { <-ctx.Done(); return ctx.Err() })).
		refused(app.CodeUnavailable)
	get(handler(func(context.Context, *call) error { return app.Errorf("NEW_CODE", "hm") })).refused(app.CodeInternal)

	// A client that disconnects is neither an error in the log nor a 5xx in the metrics.
	before := len(w.log.lines("error"))
	ctx, cancel := context.WithCancel(t.Context())
	get(handler(func(ctx context.Context, _ *call) error { cancel(); <-ctx.Done(); return ctx.Err() }),
		func(r *http.Request) { *r = *r.WithContext(ctx) })
	if log := w.log.lines("error"); len(log) != before || !strings.Contains(w.log.String(), `"status":499`) {
		t.Errorf("log after a client disconnected: got errors %s, want none and the status 499", log[before:])
	}

	defer func() {
		if got := recover(); got != any(http.ErrAbortHandler) {
			t.Errorf("panic: got %v, want %v", got, http.ErrAbortHandler)
		}
	}()
	get(handler(func(context.Context, *call) error { panic(http.ErrAbortHandler) }))
}

// Without the database, each operation responds UNAVAILABLE with Retry-After.
func TestDatabaseUnavailable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const nobody = "127.0.0.1:1" // a system port, so that no program gets it by chance
	db, err := persistence.Open(persistence.Config{URL: "postgres://u:swordfish@" + nobody + "/db?sslmode=disable"})
	w.must(err)
	t.Cleanup(func() { db.Close() })
	server := w.serverOn(db, func(c *Config) {
		c.Providers = map[app.Provider]Provider{app.ProviderGoogle: {JWKSURL: "https://" + nobody}}
	})
	customer := w.addCustomer("own", "ada@example.com").AccessToken
	for _, rt := range routes() {
		token := w.tokens["OWNER"]
		if grant := app.Permissions[rt.Permission]; grant.Own && grant.Role == "" {
			token = customer
		}
		if strings.HasPrefix(rt.Path, "/platform/") {
			token = w.tokens["PLATFORM"]
		}
		a := w.doOn(server, rt.Method, strings.Replace(rt.Path, "{id}", "x", 1), token, w.body(rt),
			header("Cookie", userCookie+"="+w.server.tokens.mintRefresh(app.RealmTenant, "ses_x",
				0))).refused(app.CodeUnavailable)
		if a.Header().Get("Retry-After") != "1" || strings.Contains(a.Body.String(), nobody) {
			t.Errorf("%s: got %v %s, want Retry-After 1 without the address of the database", a.what, a.Header(),
				a.Body)
		}
	}
	// A request that cannot be counted is refused.
	for _, path := range []string{"/auth/login", "/auth/refresh"} {
		r := httptest.NewRequest("POST", issuer+path, nil)
		c := &call{route: routeOf("POST", path), request: r, exchange: &exchange{}, body: []byte(`{"email":"a"}`)}
		if err := server.limitCaller(t.Context(), c); app.CodeOf(err) != app.CodeUnavailable {
			t.Errorf("%s: count of the caller: got error %v, want %s", path, err, app.CodeUnavailable)
		}
		if err := server.limitSession(t.Context(), c, "ses_1"); app.CodeOf(err) != app.CodeUnavailable {
			t.Errorf("%s: count of the session: got error %v, want %s", path, err, app.CodeUnavailable)
		}
	}
	if strings.Contains(w.log.String(), "swordfish") {
		t.Error("the log contains the database's password")
	}
	if !strings.Contains(w.log.String(), nobody) {
		t.Errorf("log: got %s, want the address of the database", w.log)
	}
}

func TestMetricsAndAccessLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	registry := prometheus.NewRegistry()
	server := w.serverOn(w.db.DB, func(c *Config) { c.Metrics = registry })
	w.doOn(server, "GET", "/orders/"+string(w.stores["own"].order.ID), w.tokens["OWNER"], nil).ok(200, nil)
	w.doOn(server, "GET", "/orders/x", w.tokens["OWNER"], nil).refused(app.CodeNotFound)
	w.doOn(server, "BREW", "/orders/x?access_token=swordfish", w.tokens["OWNER"], nil).refused(app.CodeMethodNotAllowed)
	if n := testutil.CollectAndCount(server.durations); n != 3 {
		t.Errorf("series: got %d, want 3", n)
	}
	families, err := registry.Gather()
	w.must(err)
	text := fmt.Sprint(families)
	for _, want := range []string{`value:"/orders/{id}"`, `value:"404"`, `value:"none"`, `value:"other"`} {
		if !strings.Contains(text, want) {
			t.Errorf("metrics: got %s, want %s in them", text, want)
		}
	}
	for _, want := range []string{`"route":"/orders/{id}"`, `"status":404`, `"code":"NOT_FOUND"`,
		`"client":"192.0.2.1"`, `"userId":"` + string(w.users["OWNER"].ID), `"storeId":"` +
			string(w.stores["own"].id)} {
		if !strings.Contains(w.log.String(), want) {
			t.Errorf("log: got %s, want %s in it", w.log, want)
		}
	}
	for _, secret := range []string{"swordfish", w.tokens["OWNER"]} {
		if strings.Contains(w.log.String(), secret) || strings.Contains(text, secret) {
			t.Errorf("the log or the metrics contain a secret that begins with %.10s", secret)
		}
	}
}
