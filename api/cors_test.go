package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

const storefront = "https://shop.test"

// withCORS makes a server beside the world's that lets the storefront's pages in.
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
		a := &answer{ResponseRecorder: httptest.NewRecorder(), t: t, what: "OPTIONS " + path}
		server.ServeHTTP(a, r)
		checkHeaders(a)
		if a.Code != 204 || a.Body.Len() != 0 {
			t.Errorf("%s: %d %s", a.what, a.Code, a.Body)
		}
		for name, want := range map[string]string{
			"Access-Control-Allow-Origin": storefront, "Access-Control-Allow-Credentials": "true", "Access-Control-Allow-Methods": server.cors.methods,
			"Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, If-Match", "Access-Control-Max-Age": "600", "Vary": "Origin",
		} {
			if got := a.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q", a.what, name, got)
			}
		}
	}
	for _, rt := range routes() {
		if !strings.Contains(", "+server.cors.methods+",", ", "+rt.method+",") {
			t.Errorf("%s is not among %s", rt.method, server.cors.methods)
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
		a := w.doOn(server, "OPTIONS", "/auth/login", "", nil, change...)
		a.what = name
		if a.refused(app.CodeMethodNotAllowed); len(corsHeaders(a.Header())) != 0 || a.Header().Get("Vary") != "Origin" {
			t.Errorf("%s: %v", name, a.Header())
		}
	}
	w.doOn(server, "OPTIONS", "/auth/login", "", nil, header("Origin", storefront)).refused(app.CodeMethodNotAllowed) // asks nothing
	w.doOn(server, "OPTIONS", "/auth/login", "", nil, header("Origin", storefront), asks, plain80).refused(app.CodeHTTPSRequired)
}

// TestCORSAnswers: an allowed origin's pages can read every answer, refusals too, and are
// trusted with logins.
func TestCORSAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.withCORS()
	browser := []func(*http.Request){header("Origin", storefront), header("Sec-Fetch-Site", "cross-site")}
	login := credentials("nobody@example.com", "x")
	for name, a := range map[string]*answer{
		"success":            w.doOn(server, "GET", "/auth/me", w.tokens["OWNER"], nil, browser...).ok(200, nil),
		"login":              w.doOn(server, "POST", "/auth/login", "", login, browser...).refused(app.CodeInvalidCredentials),
		"no credential":      w.doOn(server, "GET", "/products", "", nil, browser...).refused(app.CodeTokenInvalid),
		"unknown path":       w.doOn(server, "GET", "/nowhere", "", nil, browser...).refused(app.CodeNotFound),
		"unknown method":     w.doOn(server, "DELETE", "/products", "", nil, browser...).refused(app.CodeMethodNotAllowed),
		"invalid":            w.doOn(server, "POST", "/auth/login", "", "{", browser...).refused(app.CodeValidationFailed),
		"a developer's page": w.doOn(server, "POST", "/auth/login", "", login, header("Origin", "http://localhost:5173")).refused(app.CodeInvalidCredentials),
	} {
		h := a.Header()
		origin := storefront
		if name == "a developer's page" {
			origin = "http://localhost:5173"
		}
		if h.Get("Access-Control-Allow-Origin") != origin || h.Get("Access-Control-Allow-Credentials") != "true" || h.Get("Vary") != "Origin" ||
			!strings.HasPrefix(h.Get("Access-Control-Expose-Headers"), "X-Request-Id, Retry-After, Location") || len(corsHeaders(h)) != 3 {
			t.Errorf("%s: %v", name, h)
		}
	}
	a := w.doOn(server, "POST", "/auth/login", "", login, header("Origin", "https://evil.test"), header("Sec-Fetch-Site", "cross-site")).refused(app.CodeCrossOrigin)
	if len(corsHeaders(a.Header())) != 0 {
		t.Errorf("an unknown origin: %v", a.Header())
	}
	a = w.do("GET", "/auth/me", w.tokens["OWNER"], nil, browser...).ok(200, nil)
	if len(corsHeaders(a.Header())) != 0 || a.Header().Get("Vary") != "" {
		t.Errorf("without any origin: %v", a.Header())
	}
}
