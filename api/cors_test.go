package api

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

const storefront = "https://shop.test"

// withCORS returns another server, which allows the origin of the storefront.
func (w *world) withCORS() *Server {
	return w.serverOn(w.db.DB, func(c *Config) { c.CORSOrigins = []string{storefront, "http://localhost:5173"} })
}

func corsHeaders(a http.Header) (all []string) {
	for name := range a {
		if strings.HasPrefix(name, "Access-Control-") {
			all = append(all, name)
		}
	}
	return all
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.withCORS()
	for _, path := range []string{"/auth/login", "/orders", "/nowhere"} {
		r := httptest.NewRequest("OPTIONS", issuer+path, nil)
		r.Header.Set("Origin", storefront)
		r.Header.Set("Access-Control-Request-Method", "POST")
		r.Header.Set("Access-Control-Request-Headers", "authorization,idempotency-key")
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		a := &response{ResponseRecorder: httptest.NewRecorder(), t: t, what: "OPTIONS " + path}
		server.ServeHTTP(a, r)
		checkHeaders(a)
		if a.Code != 204 || a.Body.Len() != 0 {
			t.Errorf("%s: got %d %q, want 204 without a body", a.what, a.Code, a.Body)
		}
		for name, want := range map[string]string{
			"Access-Control-Allow-Origin": storefront, "Access-Control-Allow-Credentials": "true",
			"Access-Control-Allow-Methods": server.cors.methods,
			"Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, If-Match",
			"Access-Control-Max-Age":       "600", "Vary": "Origin",
		} {
			if got := a.Header().Get(name); got != want {
				t.Errorf("%s: header %s: got %q, want %q", a.what, name, got, want)
			}
		}
	}
	for _, rt := range routes() {
		if !strings.Contains(", "+server.cors.methods+",", ", "+rt.Method+",") {
			t.Errorf("allowed methods: got %s, want %s among them", server.cors.methods, rt.Method)
		}
	}
	asks := header("Access-Control-Request-Method", "POST")
	for name, change := range map[string][]func(*http.Request){
		"no origin":           {asks},
		"an unknown origin":   {asks, header("Origin", "https://evil.test")},
		"an opaque origin":    {asks, header("Origin", "null")},
		"the origin as http":  {asks, header("Origin", "http://shop.test")},
		"another port":        {asks, header("Origin", storefront+":8443")},
		"a longer name":       {asks, header("Origin", storefront+".evil.test")},
		"two origins":         {asks, header("Origin", storefront), header("Origin", storefront)},
		"other case":          {asks, header("Origin", "https://SHOP.test")},
		"no CORS on the host": {asks, header("Origin", issuer)},
	} {
		w.run(name, func(t *testing.T) {
			a := w.doOn(server, "OPTIONS", "/auth/login", "", nil, change...)
			if a.refused(app.CodeMethodNotAllowed); len(corsHeaders(a.Header())) != 0 ||
				a.Header().Get("Vary") != "Origin" {
				t.Errorf("headers: got %v, want Vary: Origin and no Access-Control headers", a.Header())
			}
		})
	}
	// A preflight names the method.
	w.doOn(server, "OPTIONS", "/auth/login", "", nil, header("Origin", storefront)).refused(app.CodeMethodNotAllowed)
	w.doOn(server, "OPTIONS", "/auth/login", "", nil, header("Origin", storefront), asks, plain80).
		refused(app.CodeHTTPSRequired)
}

// Pages of an allowed origin can log in and can read each response, including errors.
func TestCORSHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.withCORS()
	browser := []func(*http.Request){header("Origin", storefront), header("Sec-Fetch-Site", "cross-site")}
	login := credentials("nobody@example.com", "x")
	for name, a := range map[string]*response{
		"success": w.doOn(server, "GET", "/auth/me", w.tokens["OWNER"], nil, browser...).ok(200, nil),
		"login": w.doOn(server, "POST", "/auth/login", "", login, browser...).
			refused(app.CodeInvalidCredentials),
		"no credential": w.doOn(server, "GET", "/products", "", nil, browser...).refused(app.CodeTokenInvalid),
		"unknown path":  w.doOn(server, "GET", "/nowhere", "", nil, browser...).refused(app.CodeNotFound),
		"unknown method": w.doOn(server, "DELETE", "/products", "", nil, browser...).
			refused(app.CodeMethodNotAllowed),
		"invalid": w.doOn(server, "POST", "/auth/login", "", "{", browser...).
			refused(app.CodeValidationFailed),
		"a developer's page": w.doOn(server, "POST", "/auth/login", "", login,
			header("Origin", "http://localhost:5173")).refused(app.CodeInvalidCredentials),
	} {
		w.run(name, func(t *testing.T) {
			h := a.Header()
			origin := storefront
			if name == "a developer's page" {
				origin = "http://localhost:5173"
			}
			if h.Get("Access-Control-Allow-Origin") != origin || h.Get("Access-Control-Allow-Credentials") != "true" ||
				h.Get("Vary") != "Origin" ||
				!strings.HasPrefix(h.Get("Access-Control-Expose-Headers"),
					"X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, Location") || len(corsHeaders(h)) != 3 {
				t.Errorf("headers: got %v, want those that allow %s to read the response", h, origin)
			}
		})
	}
	a := w.doOn(server, "POST", "/auth/login", "", login, header("Origin", "https://evil.test"),
		header("Sec-Fetch-Site", "cross-site")).refused(app.CodeCrossOrigin)
	if len(corsHeaders(a.Header())) != 0 {
		t.Errorf("headers for an unknown origin: got %v, want no Access-Control headers", a.Header())
	}
	a = w.do("GET", "/auth/me", w.tokens["OWNER"], nil, browser...).ok(200, nil)
	if slices.Contains(a.Header().Values("Vary"), "Origin") || len(corsHeaders(a.Header())) != 0 {
		t.Errorf("headers of a server without origins: got %v, want neither Access-Control headers nor Vary: Origin",
			a.Header())
	}
}
