package api

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

func plain80(r *http.Request) { r.TLS = nil }

// TestOrderOfRefusal begins with a request that has every fault there is, and repairs one
// after the other: each time the next in contract §1's order is what it is refused for.
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
		{app.CodeHTTPSRequired, "DELETE", "/nowhere", "x", unknown + big, []func(*http.Request){plain80, mediaType("text/plain")}},
		{app.CodeNotFound, "DELETE", "/nowhere", "x", unknown + big, []func(*http.Request){mediaType("text/plain")}},
		{app.CodeMethodNotAllowed, "DELETE", "/webhooks", "x", unknown + big, []func(*http.Request){mediaType("text/plain")}},
		{app.CodePayloadTooLarge, "POST", "/webhooks", "x", unknown + big, []func(*http.Request){mediaType("text/plain")}},
		{app.CodeUnsupportedMediaType, "POST", "/webhooks", "x", unknown, []func(*http.Request){mediaType("text/plain")}},
		{app.CodeValidationFailed, "POST", "/webhooks", "x", unknown, nil},
		{app.CodeTokenInvalid, "POST", "/webhooks", "x", unknown + "}", nil},
		{app.CodeInsufficientRole, "POST", "/webhooks", w.tokens["STAFF"], unknown + "}", nil},
		{app.CodeValidationFailed, "POST", "/webhooks", w.tokens["OWNER"], unknown + "}", nil},
	}
	for _, s := range steps {
		w.do(s.method, s.path, s.token, s.body, s.change...).refused(s.want)
	}
	login := map[string]any{"email": 1}
	w.do("POST", "/auth/login", "", `{"email":1`+big, header("Sec-Fetch-Site", "cross-site")).refused(app.CodeCrossOrigin)
	w.do("POST", "/auth/login", "", login).refused(app.CodeValidationFailed)
	strict := w.strict()
	w.exhaust(strict, "203.0.113.7")
	w.doOn(strict, "POST", "/auth/login", "", `{"email":`, from("203.0.113.7")).refused(app.CodeValidationFailed)
	w.doOn(strict, "POST", "/auth/login", "", login, from("203.0.113.7")).refused(app.CodeRateLimited)

	// Validation, what permission the content needs, store, business rule.
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

	// Validation, existence, business rule.
	w.do("GET", "/webhooks/whk_none/deliveries?page=0", w.tokens["OWNER"], nil).refused(app.CodeValidationFailed, "page")
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
		"/", "/nowhere", "/orders/", "//orders", "/orders//x", "/./orders", "/webhooks/../orders", "/orders/a/b", "/ORDERS", "/orders%2Fx", "/%6Frders",
		"/auth", "/auth/login/", "/docs/", "/docs/nothing.js", "/openapi.yaml/x",
	} {
		w.do("GET", path, w.tokens["OWNER"], nil).refused(app.CodeNotFound)
	}
	for request, allow := range map[string]string{
		"DELETE /orders": "GET, POST", "DELETE /orders/quote": "POST", "PUT /webhooks": "GET, POST", "POST /webhooks/x": "DELETE, GET, PATCH", "HEAD /products": "GET, POST",
		"OPTIONS /products": "GET, POST", "TRACE /auth/me": "GET", "get /auth/me": "GET", "POST /openapi.yaml": "GET, HEAD", "BREW /docs": "GET, HEAD",
		"PATCH /webhooks/event-types": "GET",
	} {
		method, path, _ := strings.Cut(request, " ")
		a := w.do(method, path, "", nil).refused(app.CodeMethodNotAllowed)
		if got := a.Header().Get("Allow"); got != allow {
			t.Errorf("%s: Allow is %q instead of %q", request, got, allow)
		}
	}
}

func TestHTTPSOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	from := func(address string) func(*http.Request) { return func(r *http.Request) { r.RemoteAddr = address } }
	for name, c := range map[string]struct {
		https  bool
		change []func(*http.Request)
	}{
		"TLS":                                 {true, nil},
		"plain":                               {false, []func(*http.Request){plain80}},
		"plain with a forged header":          {false, []func(*http.Request){plain80, header("X-Forwarded-Proto", "https")}},
		"plain from a proxy that says https":  {true, []func(*http.Request){plain80, from("10.1.2.3:99"), header("X-Forwarded-Proto", "https")}},
		"the same as IPv4 in IPv6":            {true, []func(*http.Request){plain80, from("[::ffff:10.1.2.3]:99"), header("X-Forwarded-Proto", "https")}},
		"plain from a proxy that says http":   {false, []func(*http.Request){plain80, from("10.1.2.3:99"), header("X-Forwarded-Proto", "http")}},
		"plain from a proxy that says both":   {false, []func(*http.Request){plain80, from("10.1.2.3:99"), header("X-Forwarded-Proto", "https, http")}},
		"plain from a proxy with two headers": {false, []func(*http.Request){plain80, from("10.1.2.3:99"), header("X-Forwarded-Proto", "https"), header("X-Forwarded-Proto", "http")}},
		"plain from a silent proxy":           {false, []func(*http.Request){plain80, from("10.1.2.3:99")}},
		"TLS from a proxy that says http":     {false, []func(*http.Request){from("10.1.2.3:99"), header("X-Forwarded-Proto", "http")}},
		"TLS from anybody who says http":      {true, []func(*http.Request){header("X-Forwarded-Proto", "http")}},
		"plain from 11.1.2.3":                 {false, []func(*http.Request){plain80, from("11.1.2.3:99"), header("X-Forwarded-Proto", "https")}},
		"plain from nowhere":                  {false, []func(*http.Request){plain80, from(""), header("X-Forwarded-Proto", "https")}},
	} {
		a := w.do("GET", "/auth/me", w.tokens["OWNER"], nil, c.change...)
		a.what = name
		if c.https {
			a.ok(200, nil)
		} else {
			a.refused(app.CodeHTTPSRequired)
		}
	}
	// Neither a cookie nor a redirect goes out over plain HTTP.
	a := w.do("POST", "/auth/login", "", map[string]any{"email": "a", "password": "b"}, plain80).refused(app.CodeHTTPSRequired)
	if a.Header().Get("Set-Cookie") != "" || a.Header().Get("Location") != "" {
		t.Errorf("plain HTTP: %v", a.Header())
	}
}

func TestClientAddress(t *testing.T) {
	t.Parallel()
	s := New(Config{TrustedProxies: proxies})
	for _, c := range []struct {
		peer, forwarded, client string
	}{
		{"203.0.113.7:1", "", "203.0.113.7"},
		{"203.0.113.7:1", "198.51.100.1", "203.0.113.7"},
		{"10.0.0.1:1", "198.51.100.1", "198.51.100.1"},
		{"10.0.0.1:1", "1.1.1.1, 198.51.100.1", "198.51.100.1"},
		{"10.0.0.1:1", "1.1.1.1, 198.51.100.1, 10.0.0.2", "198.51.100.1"},
		{"10.0.0.1:1", "10.0.0.3, 10.0.0.2", "10.0.0.3"},
		{"10.0.0.1:1", "198.51.100.1:4711", "198.51.100.1"},
		{"10.0.0.1:1", "[2001:db8::1]:4711", "2001:db8::1"},
		{"10.0.0.1:1", "2001:db8::1", "2001:db8::1"},
		{"10.0.0.1:1", "198.51.100.1, garbage", "10.0.0.1"},
		{"10.0.0.1:1", "", "10.0.0.1"},
		{"[::ffff:10.0.0.1]:1", "::ffff:198.51.100.1", "198.51.100.1"},
		{"[fe80::1%eth0]:1", "", "fe80::1"},
	} {
		r := httptest.NewRequest("GET", issuer, nil)
		r.RemoteAddr = c.peer
		for part := range strings.SplitSeq(c.forwarded, ", ") { // as several headers: the same
			r.Header.Add("X-Forwarded-For", part)
		}
		if got := s.clientAddr(r).String(); got != c.client {
			t.Errorf("%s, forwarded for %q: %s instead of %s", c.peer, c.forwarded, got, c.client)
		}
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
		"no browser":                {app.CodeInvalidCredentials, nil},
		"same origin":               {app.CodeInvalidCredentials, []func(*http.Request){header("Sec-Fetch-Site", "same-origin")}},
		"another site":              {app.CodeCrossOrigin, []func(*http.Request){header("Sec-Fetch-Site", "cross-site")}},
		"a sibling host":            {app.CodeCrossOrigin, []func(*http.Request){header("Sec-Fetch-Site", "same-site")}},
		"an old browser, same host": {app.CodeInvalidCredentials, []func(*http.Request){header("Origin", issuer)}},
		"an old browser, elsewhere": {app.CodeCrossOrigin, []func(*http.Request){header("Origin", "https://evil.test")}},
		"an opaque origin":          {app.CodeCrossOrigin, []func(*http.Request){header("Origin", "null")}},
	} {
		a := w.do("POST", "/auth/login", "", login, c.change...)
		a.what = name
		a.refused(c.want)
	}
	w.do("GET", "/auth/me", w.tokens["OWNER"], nil, header("Sec-Fetch-Site", "cross-site")).ok(200, nil)
	w.do("POST", "/orders", w.tokens["OWNER"], w.orderBody("own"), header("Sec-Fetch-Site", "cross-site")).ok(201, nil)
}

// TestPanicsAndOddErrors puts a route of its own before the steps that every route has.
func TestPanicsAndOddErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	within := func(timeout time.Duration, f func(ctx context.Context, c *call) error) *Server {
		s := w.serverOn(w.db.DB, func(c *Config) { c.Timeout = timeout })
		s.router = s.newRouter([]route{{
			method: "GET", path: "/auth/me", permission: app.ViewOwnTenantLogin, status: 200,
			endpoint: handle(func(_ *Server, ctx context.Context, c *call, _ noIn) (noIn, error) { return noIn{}, f(ctx, c) }),
		}})
		return s
	}
	handler := func(f func(ctx context.Context, c *call) error) *Server { return within(0, f) }
	get := func(s *Server, change ...func(*http.Request)) *answer {
		t.Helper()
		return w.doOn(s, "GET", "/auth/me", w.tokens["OWNER"], nil, change...)
	}
	secret := "the password is swordfish"

	a := get(handler(func(context.Context, *call) error { panic(secret) })).refused(app.CodeInternal)
	if strings.Contains(a.Body.String(), "swordfish") || strings.Contains(a.Body.String(), "goroutine") {
		t.Errorf("a panic shows: %s", a.Body)
	}
	if log := w.log.lines("error"); len(log) < 2 || !strings.Contains(log[0], "refusal_test.go") || !strings.Contains(log[0], a.Header().Get("X-Request-Id")) {
		t.Errorf("the panic is not in the log with its stack: %s", log)
	}
	a = get(handler(func(context.Context, *call) error { return errors.New(secret) })).refused(app.CodeInternal)
	if strings.Contains(a.Body.String(), "swordfish") || !strings.Contains(a.Body.String(), a.Header().Get("X-Request-Id")) {
		t.Errorf("an internal error: %s", a.Body)
	}
	a = get(handler(func(context.Context, *call) error {
		return fmt.Errorf("%w: %s", app.Unavailable(1100*time.Millisecond), secret)
	})).refused(app.CodeUnavailable)
	if strings.Contains(a.Body.String(), "swordfish") || a.Header().Get("Retry-After") != "2" {
		t.Errorf("unavailable: %v %s", a.Header(), a.Body)
	}
	get(within(50*time.Millisecond, func(ctx context.Context, _ *call) error { <-ctx.Done(); return ctx.Err() })).refused(app.CodeUnavailable)
	get(handler(func(context.Context, *call) error { return app.Errorf("NEW_CODE", "hm") })).refused(app.CodeInternal)

	// A client that goes away is neither our error nor a 5xx in the metrics.
	before := len(w.log.lines("error"))
	ctx, cancel := context.WithCancel(t.Context())
	get(handler(func(ctx context.Context, _ *call) error { cancel(); <-ctx.Done(); return ctx.Err() }), func(r *http.Request) { *r = *r.WithContext(ctx) })
	if log := w.log.lines("error"); len(log) != before || !strings.Contains(w.log.String(), `"status":499`) {
		t.Errorf("a client that went away: %s", log[before:])
	}

	defer func() {
		if recover() != any(http.ErrAbortHandler) {
			t.Error("http.ErrAbortHandler does not pass through")
		}
	}()
	get(handler(func(context.Context, *call) error { panic(http.ErrAbortHandler) }))
}

// TestOverTheWire runs one request of each kind through net/http, with its limits.
func TestOverTheWire(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := httptest.NewTLSServer(w.server)
	t.Cleanup(server.Close)
	client := server.Client()

	request := func(method, path string, body io.Reader) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, body)
		w.must(err)
		r.Header.Set("Authorization", "Bearer "+w.tokens["OWNER"])
		r.Header.Set("Content-Type", "application/json; charset=UTF-8")
		response, err := client.Do(r)
		w.must(err)
		t.Cleanup(func() { response.Body.Close() })
		return response
	}
	if r := request("GET", "/auth/me", nil); r.StatusCode != 200 || r.Header.Get("X-Request-Id") == "" {
		t.Errorf("GET: %s", r.Status)
	}
	endless := io.LimitReader(spaces{}, 1<<30) // without a Content-Length
	if r := request("POST", "/orders", endless); r.StatusCode != 413 {
		t.Errorf("an endless body: %s", r.Status)
	}
	if r := request("HEAD", "/docs", nil); r.StatusCode != 200 {
		t.Errorf("HEAD: %s", r.Status)
	}
	address, err := url.Parse(server.URL)
	w.must(err)
	for raw, want := range map[string]string{
		"GET /auth/me?%zz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + w.tokens["OWNER"] + "\r\n\r\n":                                                "400",
		"GET https://elsewhere/auth/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + w.tokens["OWNER"] + "\r\n\r\n":                                   "200",
		"POST /orders HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n":                                                                           "413",
		"POST /orders HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n\r\n12345":                 "415",
		"GET /auth/me HTTP/1.1\r\nHost: x\r\nauthorization: bEaReR " + w.tokens["OWNER"] + "\r\n\r\n":                                                    "200",
		"GET /auth/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + w.tokens["OWNER"] + "\r\nAuthorization: Bearer " + w.tokens["OWNER"] + "\r\n\r\n": "401",
		"GET /auth/me HTTP/1.1\r\nHost: x\r\nAuthorization: Basic dTpw\r\n\r\n":                                                                          "401",
	} {
		conn, err := tls.Dial("tcp", address.Host, &tls.Config{InsecureSkipVerify: true})
		w.must(err)
		_, err = conn.Write([]byte(raw))
		w.must(err)
		line := make([]byte, 12)
		_, err = io.ReadFull(conn, line)
		w.must(err)
		conn.Close()
		if string(line[9:]) != want {
			t.Errorf("%.60q: %s instead of %s", raw, line, want)
		}
	}
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestDatabaseAway: whatever needs the database says so, and when to come back.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	nobody := listener.Addr().String()
	w.must(listener.Close())
	db, err := persistence.Open(persistence.Config{URL: "postgres://u:swordfish@" + nobody + "/db?sslmode=disable"})
	w.must(err)
	t.Cleanup(func() { db.Close() })
	server := w.serverOn(db, func(c *Config) {
		c.Providers = map[app.Provider]Provider{app.ProviderGoogle: {ClientIDs: []string{"us"}, JWKSURL: "https://" + nobody}}
	})
	customer := w.addCustomer("own", "ada@example.com").AccessToken
	for _, rt := range routes() {
		token := w.tokens["OWNER"]
		if grant := app.Permissions[rt.permission]; grant.Own && grant.Role == "" {
			token = customer
		}
		if strings.HasPrefix(rt.path, "/platform/") {
			token = w.tokens["PLATFORM"]
		}
		a := w.doOn(server, rt.method, strings.Replace(rt.path, "{id}", "x", 1), token, w.body(rt),
			header("Cookie", refreshCookie+"="+w.server.tokens.mintRefresh(app.RealmTenant, "ses_x", 0))).refused(app.CodeUnavailable)
		if a.Header().Get("Retry-After") != "1" || strings.Contains(a.Body.String(), nobody) {
			t.Errorf("%s: %v %s", a.what, a.Header(), a.Body)
		}
	}
	// Who cannot be counted is not let through.
	for _, path := range []string{"/auth/login", "/auth/refresh"} {
		r := httptest.NewRequest("POST", issuer+path, nil)
		c := &call{route: &route{method: "POST", path: path}, request: r, exchange: &exchange{}, body: []byte(`{"email":"a"}`)}
		if err := server.limitCaller(t.Context(), c); app.CodeOf(err) != app.CodeUnavailable {
			t.Errorf("%s: %v", path, err)
		}
		if err := server.limitSession(t.Context(), c, "ses_1"); app.CodeOf(err) != app.CodeUnavailable {
			t.Errorf("%s: %v", path, err)
		}
	}
	if strings.Contains(w.log.String(), "swordfish") {
		t.Error("the database's password is in the log")
	}
	if !strings.Contains(w.log.String(), nobody) {
		t.Error("the log does not say what is out of reach")
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
		t.Errorf("%d series", n)
	}
	families, err := registry.Gather()
	w.must(err)
	text := fmt.Sprint(families)
	for _, want := range []string{`value:"/orders/{id}"`, `value:"404"`, `value:"none"`, `value:"other"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	for _, want := range []string{`"route":"/orders/{id}"`, `"status":404`, `"code":"NOT_FOUND"`, `"client":"192.0.2.1"`, `"userId":"` + string(w.users["OWNER"].ID), `"storeId":"` + string(w.stores["own"].id)} {
		if !strings.Contains(w.log.String(), want) {
			t.Errorf("no %s in the log: %s", want, w.log)
		}
	}
	for _, secret := range []string{"swordfish", w.tokens["OWNER"]} {
		if strings.Contains(w.log.String(), secret) || strings.Contains(text, secret) {
			t.Errorf("%.10s… is in the log or the metrics", secret)
		}
	}
}
