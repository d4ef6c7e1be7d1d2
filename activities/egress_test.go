package activities

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// receiver returns an egress client and the URL of a TLS server that the client trusts.
func receiver(t *testing.T, timeout time.Duration, handler http.HandlerFunc) (*Egress, string) {
	return start(t, httptest.NewUnstartedServer(handler), timeout)
}

// start starts a TLS server and returns an egress client that trusts it.
func start(t *testing.T, server *httptest.Server, timeout time.Duration) (*Egress, string) {
	server.StartTLS()
	t.Cleanup(server.Close)
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	return NewEgress(EgressConfig{Allow: loopback, RootCAs: pool, Timeout: timeout}), server.URL
}

func post(e *Egress, url string) (Response, error) {
	return e.Post(context.Background(), url, http.Header{"User-Agent": {UserAgent}}, []byte(`{"id":"evt_1"}`),
		func() error { return nil })
}

func TestPost(t *testing.T) {
	t.Parallel()
	var got []byte
	var header http.Header
	e, url := receiver(t, time.Minute, func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.ReadAll(r.Body)
		header = r.Header
		w.Header().Set("X-Response", "yes")
		w.WriteHeader(http.StatusAccepted)
		io.WriteString(w, "thanks")
	})
	response, err := post(e, url)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != `{"id":"evt_1"}` || response.StatusCode != 202 || string(response.Body) != "thanks" ||
		response.Header.Get("X-Response") != "yes" {
		t.Errorf("sent body %q, response %+v, want the exact body, status 202, thanks and X-Response", got, response)
	}
	if len(header["Idempotency-Key"]) != 0 || header.Get("Accept-Encoding") != "" {
		t.Errorf("sent headers %v, want neither Idempotency-Key nor Accept-Encoding", header)
	}
}

// repeat is a receiver that sends these strings one after the other and then repeats the last one.
func repeat(sent ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := w.(http.Hijacker).Hijack()
		defer conn.Close()
		last := len(sent) - 1
		_, err := io.WriteString(conn, strings.Join(sent[:last], ""))
		for err == nil {
			_, err = io.WriteString(conn, sent[last])
		}
	}
}

func TestPostHostileReceivers(t *testing.T) {
	t.Parallel()
	hang := func(r *http.Request) {
		io.Copy(io.Discard, r.Body) // otherwise, the server does not notice that the client has disconnected
		<-r.Context().Done()
	}
	hijack := func(w http.ResponseWriter, response string) {
		conn, _, _ := w.(http.Hijacker).Hijack()
		io.WriteString(conn, response)
		if tcp, ok := conn.(interface{ NetConn() net.Conn }); ok {
			tcp.NetConn().(*net.TCPConn).SetLinger(0)
		}
		conn.Close()
	}
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write(make([]byte, 32<<20))
	z.Close()

	const tooLarge, closed = "the response headers are too large", "the connection was closed without a response"
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		status  int
		reason  string // text of the error
	}{
		"hang": {handler: func(_ http.ResponseWriter, r *http.Request) { hang(r) }, reason: "no response within 3s"},
		"endless body": {handler: func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}, status: 200},
		"body that hangs": {handler: func(w http.ResponseWriter, r *http.Request) {
			w.Write([]byte("begun"))
			w.(http.Flusher).Flush()
			hang(r)
		}, status: 200},
		"header that drips": {handler: func(w http.ResponseWriter, r *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
			for range time.Tick(20 * time.Millisecond) {
				if _, err := io.WriteString(conn, "X-More: x\r\n"); err != nil {
					return
				}
			}
		}, reason: "no response within 3s"},
		"body that drips": {handler: func(w http.ResponseWriter, _ *http.Request) {
			for range time.Tick(20 * time.Millisecond) {
				if _, err := io.WriteString(w, "x"); err != nil {
					return
				}
				w.(http.Flusher).Flush()
			}
		}, status: 200},
		"interim responses that drip": {handler: func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			defer conn.Close()
			for range time.Tick(20 * time.Millisecond) {
				if _, err := io.WriteString(conn, "HTTP/1.1 102 Processing\r\n\r\n"); err != nil {
					return
				}
			}
		}, reason: "no response within 3s"},
		"endless 100":         {handler: repeat("HTTP/1.1 100 Continue\r\n\r\n"), reason: tooLarge},
		"endless 103":         {handler: repeat("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"), reason: tooLarge},
		"endless status line": {handler: repeat("HTTP/1.1 200 OK "), reason: tooLarge},
		"header flood":        {handler: repeat("HTTP/1.1 200 OK\r\n", "X-More: x\r\n"), reason: tooLarge},
		"no status":           {handler: repeat("HTTP/1.1 000 None\r\n\r\n"), reason: "the response is not HTTP"},
		"gzip bomb": {handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(bomb.Bytes())
		}, status: 200},
		"endless header": {handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", 64<<10))
		}, reason: tooLarge},
		"reset":    {handler: func(w http.ResponseWriter, _ *http.Request) { hijack(w, "") }, reason: closed},
		"not HTTP": {handler: repeat("220 smtp.example ESMTP\r\n"), reason: "the response is not HTTP"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := time.Minute
			if strings.Contains(name, "hang") || strings.Contains(name, "drip") {
				timeout = 3 * time.Second // enough for the handshake on a slow machine
			}
			e, url := receiver(t, timeout, test.handler)
			response, err := post(e, url)
			if test.reason != "" {
				if err == nil || err.Error() != test.reason {
					t.Errorf("error %v, want %q", err, test.reason)
				}
				return
			}
			if err != nil || response.StatusCode != test.status || len(response.Body) > maxResponseBody {
				t.Errorf("status %d, %d bytes, %v, want %d and at most %d bytes",
					response.StatusCode, len(response.Body), err, test.status, maxResponseBody)
			}
		})
	}
}

// A redirect is returned as the response and is not followed.
func TestPostDoesNotFollowRedirects(t *testing.T) {
	t.Parallel()
	for _, status := range []int{300, 301, 302, 303, 304, 305, 307, 308} {
		var calls atomic.Int32
		e, url := receiver(t, time.Minute, func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			http.Redirect(w, r, "/again", status)
		})
		if response, err := post(e, url); err != nil || response.StatusCode != status || calls.Load() != 1 {
			t.Errorf("redirect %d: %d requests, response %+v, %v, want one request and the redirect",
				status, calls.Load(), response, err)
		}
	}
}

func TestPostVerifiesCertificates(t *testing.T) {
	t.Parallel()
	_, url := receiver(t, time.Minute, func(http.ResponseWriter, *http.Request) {
		t.Error("a request reached the receiver, want none")
	})
	stranger := NewEgress(EgressConfig{Allow: loopback})
	if _, err := post(stranger, url); err == nil || err.Error() != "the certificate is not trusted" {
		t.Errorf("untrusted certificate: %v, want the certificate is not trusted", err)
	}
}

func TestPostUnusableURLs(t *testing.T) {
	t.Parallel()
	e := NewEgress(EgressConfig{Allow: loopback, Timeout: time.Minute}) // longer than the resolver waits for servers
	for url, reason := range map[string]string{
		"http://example.com/":            "the URL must be an https URL",
		"https://user@example.com/":      "the URL must not contain a user name or password",
		"https://does-not-exist.invalid": "the host name could not be resolved",
		"https://127.0.0.1:1/":           "the connection was refused",
	} {
		t.Run(url, func(t *testing.T) {
			if _, err := post(e, url); err == nil || err.Error() != reason {
				t.Errorf("%s: %v, want %q", url, err, reason)
			}
		})
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	_, err := post(e, strings.Replace(plain.URL, "http:", "https:", 1))
	if err == nil || err.Error() != "the TLS handshake failed" {
		t.Errorf("https request to a plain HTTP server: %v, want the TLS handshake failed", err)
	}
}

// hold reads the rest of a connection and reports whether the client closed it. The deadline ends only a failing test.
func hold(conn net.Conn) bool {
	conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	_, err := io.Copy(io.Discard, conn)
	return !isTimeout(err)
}

// After 101, the request's context does not apply to the connection, so the client must not read from it.
func TestPostSwitchingProtocols(t *testing.T) {
	t.Parallel()
	const switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
	for name, sent := range map[string]string{
		"silence":        switching,
		"bytes after it": switching + "hello",
		"no upgrade":     "HTTP/1.1 101 Switching Protocols\r\n\r\n",
		"interim first":  "HTTP/1.1 103 Early Hints\r\n\r\n" + switching,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			closed := make(chan bool, 1)
			e, url := receiver(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) {
				conn, _, _ := w.(http.Hijacker).Hijack()
				defer conn.Close()
				io.WriteString(conn, sent)
				closed <- hold(conn)
			})
			response, err := post(e, url)
			if err != nil || response.StatusCode != 101 || len(response.Body) != 0 {
				t.Errorf("response %+v, %v, want status 101 without body", response, err)
			}
			if !<-closed {
				t.Error("the client kept the connection open, want it closed")
			}
		})
	}
}

// A POST that the receiver has read is not repeated on another connection.
func TestPostIsNotRepeated(t *testing.T) {
	t.Parallel()
	const kept = 4
	var arriving sync.WaitGroup
	arriving.Add(kept)
	var calls atomic.Int32
	e, url := receiver(t, time.Minute, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) <= kept {
			arriving.Done()
			arriving.Wait() // so that each request has its own connection
			return
		}
		io.Copy(io.Discard, r.Body)
		conn, _, _ := w.(http.Hijacker).Hijack()
		conn.Close()
	})
	var posts sync.WaitGroup
	for range kept {
		posts.Go(func() {
			if _, err := post(e, url); err != nil {
				t.Errorf("POST: %v", err)
			}
		})
	}
	posts.Wait()
	_, err := post(e, url)
	if err == nil || err.Error() != "the connection was closed without a response" || calls.Load() != kept+1 {
		t.Errorf("POST on a reused connection: %d requests, %v, want 1 and a closed connection", calls.Load()-kept, err)
	}
}

// An idle connection that the receiver has closed is replaced.
func TestPostReplacesClosedConnection(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	closed := make(chan struct{}, 2)
	server.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		switch state {
		case http.StateIdle:
			conn.(*tls.Conn).CloseWrite()
		case http.StateClosed: // after the client has read that the server closed it
			closed <- struct{}{}
		}
	}
	e, url := start(t, server, time.Minute)
	for range 2 {
		if response, err := post(e, url); err != nil || response.StatusCode != 200 {
			t.Errorf("POST: %+v, %v, want status 200", response, err)
		}
		<-closed
	}
}

// TestPostThatIsNoLongerDue checks that a request whose connection is ready is not sent if it is no longer due.
func TestPostThatIsNoLongerDue(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	e, url := receiver(t, time.Minute, func(http.ResponseWriter, *http.Request) { requests.Add(1) })
	late := errors.New("late")
	for _, due := range []error{nil, late, nil, late} { // over a new connection and over a kept one
		before := requests.Load()
		_, err := e.Post(t.Context(), url, http.Header{}, []byte(`{}`), func() error { return due })
		if sent := requests.Load() - before; (err == nil) != (due == nil) || (sent == 1) != (due == nil) {
			t.Errorf("due %v: got error %v and %d requests", due, err, sent)
		}
	}
}
