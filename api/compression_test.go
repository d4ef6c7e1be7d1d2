package api

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// TestCompressedRoutes walks the route table: no response with a token, a secret or an event stream is compressed.
func TestCompressedRoutes(t *testing.T) {
	t.Parallel()
	compressed := 0
	for _, rt := range routes() {
		if !rt.compressed() {
			continue
		}
		compressed++
		if rt.Method != http.MethodGet || rt.Cookie != "" || !rt.byAccessToken() {
			t.Errorf("%s %s is compressed, want only GET with an access token", rt.Method, rt.Path)
		}
		if strings.HasSuffix(rt.Path, "/stream") {
			t.Errorf("%s %s is compressed, want streams to be plain", rt.Method, rt.Path)
		}
		if rt.Handler.response == nil {
			continue
		}
		body, err := encode(rt.Handler.response)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"secret", "token", "accessToken", "recoveryCodes", "key"} {
			if bytes.Contains(body, []byte(`"`+secret+`":`)) {
				t.Errorf("%s %s is compressed and has the member %q", rt.Method, rt.Path, secret)
			}
		}
	}
	if compressed < 20 {
		t.Errorf("got %d compressed routes, want at least 20", compressed)
	}
}

// TestResponsesAreCompressed for clients that accept gzip, from a minimum size.
func TestResponsesAreCompressed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	customer := w.addCustomer("own", "ada@example.com").Customer.ID
	for range 10 {
		w.orderOf("own", customer)
	}
	const list = "/orders?limit=100"
	raw := func(method, path string, change func(*http.Request)) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, issuer+path, nil)
		r.Header.Set("Authorization", "Bearer "+w.tokens["STAFF"])
		change(r)
		recorder := httptest.NewRecorder()
		w.server.ServeHTTP(recorder, r)
		return recorder
	}
	zipped := header("Accept-Encoding", "gzip, deflate, br, zstd")
	plain := w.do("GET", list, w.tokens["STAFF"], nil)
	plain.ok(200, nil)
	if got := plain.Header().Get("Content-Encoding"); got != "" {
		t.Errorf("got Content-Encoding %q without Accept-Encoding, want none", got)
	}
	a := raw("GET", list, zipped)
	if got := a.Header().Get("Content-Encoding"); got != "gzip" || a.Body.Len() >= plain.Body.Len() {
		t.Fatalf("got Content-Encoding %q with %d bytes, want gzip with less than %d", got, a.Body.Len(),
			plain.Body.Len())
	}
	if got := a.Header().Values("Vary"); !slices.Contains(got, "Accept-Encoding") {
		t.Errorf("got Vary %q, want Accept-Encoding", got)
	}
	reader, err := gzip.NewReader(a.Body)
	w.must(err)
	body, err := io.ReadAll(reader)
	w.must(err)
	data, _, _ := bytes.Cut(plain.Body.Bytes(), []byte(`"meta"`)) // the rest has the request id
	if !bytes.HasPrefix(body, data) || len(body) != plain.Body.Len() {
		t.Errorf("got a compressed body of %d bytes that differs from the plain one", len(body))
	}
	for path, method := range map[string]string{"/auth/me": "GET", "/auth/refresh": "POST", "/nowhere": "GET"} {
		if got := raw(method, path, zipped).Header().Get("Content-Encoding"); got != "" {
			t.Errorf("%s %s: got Content-Encoding %q, want none", method, path, got)
		}
	}
}
