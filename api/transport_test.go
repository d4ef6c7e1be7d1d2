package api

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

func TestHTTPSOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	from := func(address string) func(*http.Request) { return func(r *http.Request) { r.RemoteAddr = address } }
	for name, c := range map[string]struct {
		https  bool
		change []func(*http.Request)
	}{
		"TLS":   {true, nil},
		"plain": {false, []func(*http.Request){plain80}},
		"plain with a forged header": {
			false, []func(*http.Request){plain80, header("X-Forwarded-Proto", "https")},
		},
		"plain from a proxy that says https": {
			true, []func(*http.Request){plain80, from("10.1.2.3:99"), header("X-Forwarded-Proto", "https")},
		},
		"the same as IPv4 in IPv6": {
			true, []func(*http.Request){plain80, from("[::ffff:10.1.2.3]:99"), header("X-Forwarded-Proto", "https")},
		},
		"plain from a proxy that says http": {
			false, []func(*http.Request){plain80, from("10.1.2.3:99"), header("X-Forwarded-Proto", "http")},
		},
		"plain from a proxy that says both": {
			false, []func(*http.Request){plain80, from("10.1.2.3:99"), header("X-Forwarded-Proto", "https, http")},
		},
		"plain from a proxy with two headers": {
			false,
			[]func(*http.Request){plain80, from("10.1.2.3:99"), header("X-Forwarded-Proto",
				"https"), header("X-Forwarded-Proto", "http")},
		},
		"plain from a silent proxy": {false, []func(*http.Request){plain80, from("10.1.2.3:99")}},
		"TLS from a proxy that says http": {
			false, []func(*http.Request){from("10.1.2.3:99"), header("X-Forwarded-Proto", "http")},
		},
		"TLS from anybody who says http": {true, []func(*http.Request){header("X-Forwarded-Proto", "http")}},
		"plain from 11.1.2.3": {
			false, []func(*http.Request){plain80, from("11.1.2.3:99"), header("X-Forwarded-Proto", "https")},
		},
		"plain from nowhere": {
			false, []func(*http.Request){plain80, from(""), header("X-Forwarded-Proto", "https")},
		},
	} {
		w.run(name, func(t *testing.T) {
			a := w.do("GET", "/auth/me", w.tokens["OWNER"], nil, c.change...)
			if c.https {
				a.ok(200, nil)
			} else {
				a.refused(app.CodeHTTPSRequired)
			}
		})
	}
	// Neither a cookie nor a redirect goes out over plain HTTP.
	a := w.do("POST", "/auth/login", "", map[string]any{"email": "a", "password": "b"}, plain80).
		refused(app.CodeHTTPSRequired)
	if a.Header().Get("Set-Cookie") != "" || a.Header().Get("Location") != "" {
		t.Errorf("plain HTTP: got %v, want neither a cookie nor a redirect", a.Header())
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
		for part := range strings.SplitSeq(c.forwarded, ", ") { // several headers have the same effect
			r.Header.Add("X-Forwarded-For", part)
		}
		if got := s.clientAddr(r).String(); got != c.client {
			t.Errorf("%s, forwarded for %q: got client %s, want %s", c.peer, c.forwarded, got, c.client)
		}
	}
}

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
		t.Errorf("GET: got %s, want 200 with a request id", r.Status)
	}
	endless := io.LimitReader(spaces{}, 1<<30) // without a Content-Length
	if r := request("POST", "/orders", endless); r.StatusCode != 413 {
		t.Errorf("endless body: got %s, want 413", r.Status)
	}
	if r := request("HEAD", "/docs", nil); r.StatusCode != 200 {
		t.Errorf("HEAD: got %s, want 200", r.Status)
	}
	address, err := url.Parse(server.URL)
	w.must(err)
	token := w.tokens["OWNER"] + "\r\n"
	authorized := "Authorization: Bearer " + token
	for raw, want := range map[string]string{ // without the last line end
		"GET /auth/me?%zz HTTP/1.1\r\nHost: x\r\n" + authorized:              "400",
		"GET https://elsewhere/auth/me HTTP/1.1\r\nHost: x\r\n" + authorized: "200",
		"POST /orders HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n":   "413",
		"GET /auth/me HTTP/1.1\r\nHost: x\r\nauthorization: bEaReR " + token: "200",
		"GET /auth/me HTTP/1.1\r\nHost: x\r\n" + authorized + authorized:     "401",
		"GET /auth/me HTTP/1.1\r\nHost: x\r\nAuthorization: Basic dTpw\r\n":  "401",
		"POST /orders HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Type: application/json\r\n" +
			"Content-Encoding: gzip\r\n\r\n12345": "415",
	} {
		conn, err := tls.Dial("tcp", address.Host, &tls.Config{InsecureSkipVerify: true})
		w.must(err)
		_, err = conn.Write([]byte(raw + "\r\n"))
		w.must(err)
		line := make([]byte, 12)
		_, err = io.ReadFull(conn, line)
		w.must(err)
		conn.Close()
		if string(line[9:]) != want {
			t.Errorf("%.60q: got status line %s, want %s", raw, line, want)
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
