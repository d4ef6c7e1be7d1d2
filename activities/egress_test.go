package activities

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
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

// receiver returns an egress client and the URL of a TLS server that it trusts.
func receiver(t *testing.T, timeout time.Duration, handler http.HandlerFunc) (*Egress, string) {
	return start(t, httptest.NewUnstartedServer(handler), timeout)
}

// start starts a TLS server, and makes an egress client that trusts it.
func start(t *testing.T, server *httptest.Server, timeout time.Duration) (*Egress, string) {
	server.StartTLS()
	t.Cleanup(server.Close)
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	return NewEgress(EgressConfig{Allow: loopback, RootCAs: pool, Timeout: timeout}), server.URL
}

func post(e *Egress, url string) (Response, error) {
	return e.Post(context.Background(), url, http.Header{"User-Agent": {UserAgent}}, []byte(`{"id":"evt_1"}`))
}

func TestPostSendsTheBodyAsItIs(t *testing.T) {
	t.Parallel()
	var got []byte
	var header http.Header
	e, url := receiver(t, time.Minute, func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.ReadAll(r.Body)
		header = r.Header
		w.Header().Set("X-Answer", "yes")
		w.WriteHeader(http.StatusAccepted)
		io.WriteString(w, "thanks")
	})
	response, err := post(e, url)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != `{"id":"evt_1"}` || response.StatusCode != 202 || string(response.Body) != "thanks" ||
		response.Header.Get("X-Answer") != "yes" {
		t.Errorf("sent %q, got %+v", got, response)
	}
	if len(header["Idempotency-Key"]) != 0 || header.Get("Accept-Encoding") != "" {
		t.Errorf("sent headers %v", header)
	}
}

// repeat is a receiver that sends the last of these strings again and again, after the others.
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

func TestHostileReceivers(t *testing.T) {
	t.Parallel()
	hang := func(r *http.Request) {
		io.Copy(io.Discard, r.Body) // only then does the server notice that the client has gone
		<-r.Context().Done()
	}
	hijack := func(w http.ResponseWriter, answer string) {
		conn, _, _ := w.(http.Hijacker).Hijack()
		io.WriteString(conn, answer)
		if tcp, ok := conn.(interface{ NetConn() net.Conn }); ok {
			tcp.NetConn().(*net.TCPConn).SetLinger(0)
		}
		conn.Close()
	}
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write(make([]byte, 32<<20))
	z.Close()

	const tooLarge, closed = "the response headers are too large", "the connection was closed without an answer"
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		status  int
		reason  string // of an error
	}{
		"hang": {handler: func(_ http.ResponseWriter, r *http.Request) { hang(r) }, reason: "no answer within 300ms"},
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
		}, reason: "no answer within 300ms"},
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
		}, reason: "no answer within 300ms"},
		"endless 100":         {handler: repeat("HTTP/1.1 100 Continue\r\n\r\n"), reason: tooLarge},
		"endless 103":         {handler: repeat("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"), reason: tooLarge},
		"endless status line": {handler: repeat("HTTP/1.1 200 OK "), reason: tooLarge},
		"header flood":        {handler: repeat("HTTP/1.1 200 OK\r\n", "X-More: x\r\n"), reason: tooLarge},
		"no status":           {handler: repeat("HTTP/1.1 000 None\r\n\r\n"), reason: "the answer is not HTTP"},
		"gzip bomb": {handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(bomb.Bytes())
		}, status: 200},
		"endless header": {handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", 64<<10))
		}, reason: tooLarge},
		"reset":    {handler: func(w http.ResponseWriter, _ *http.Request) { hijack(w, "") }, reason: closed},
		"not HTTP": {handler: repeat("220 smtp.example ESMTP\r\n"), reason: "the answer is not HTTP"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := time.Minute
			if strings.Contains(name, "hang") || strings.Contains(name, "drip") {
				timeout = 300 * time.Millisecond
			}
			e, url := receiver(t, timeout, test.handler)
			response, err := post(e, url)
			if test.reason != "" {
				if err == nil || err.Error() != test.reason {
					t.Errorf("got %v, want %q", err, test.reason)
				}
				return
			}
			if err != nil || response.StatusCode != test.status || len(response.Body) > maxResponseBody {
				t.Errorf("got %d with %d bytes and %v, want %d", response.StatusCode, len(response.Body), err, test.status)
			}
		})
	}
}

// A redirect of any status is an answer like another, and its target never learns of us.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{300, 301, 302, 303, 304, 305, 307, 308} {
		var calls atomic.Int32
		e, url := receiver(t, time.Minute, func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			http.Redirect(w, r, "/again", status)
		})
		if response, err := post(e, url); err != nil || response.StatusCode != status || calls.Load() != 1 {
			t.Errorf("%d: %d calls, %+v, %v", status, calls.Load(), response, err)
		}
	}
}

func TestCertificatesAreVerified(t *testing.T) {
	t.Parallel()
	_, url := receiver(t, time.Minute, func(http.ResponseWriter, *http.Request) {
		t.Error("a request reached the receiver")
	})
	stranger := NewEgress(EgressConfig{Allow: loopback})
	if _, err := post(stranger, url); err == nil || err.Error() != "the certificate is not trusted" {
		t.Errorf("got %v", err)
	}
}

func TestUnusableURLs(t *testing.T) {
	t.Parallel()
	e := NewEgress(EgressConfig{Allow: loopback, Timeout: 5 * time.Second})
	for url, reason := range map[string]string{
		"http://example.com/":            "the URL must be an https URL",
		"https://user@example.com/":      "the URL must not contain a user name or password",
		"https://does-not-exist.invalid": "the host name could not be resolved",
		"https://127.0.0.1:1/":           "the connection was refused",
	} {
		if _, err := post(e, url); err == nil || err.Error() != reason {
			t.Errorf("%s: got %v, want %q", url, err, reason)
		}
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	_, err := post(e, strings.Replace(plain.URL, "http:", "https:", 1))
	if err == nil || err.Error() != "the TLS handshake failed" {
		t.Errorf("plain text: %v", err)
	}
}

// hold reads the rest of a connection and reports whether the client closed it. The deadline
// only ends a test that fails.
func hold(conn net.Conn) bool {
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	_, err := io.Copy(io.Discard, conn)
	return !isTimeout(err)
}

// After 101 the client's context no longer governs the connection, so nothing is read from it.
func TestSwitchingProtocolsDoesNotHoldTheAttempt(t *testing.T) {
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
			e, url := receiver(t, 300*time.Millisecond, func(w http.ResponseWriter, _ *http.Request) {
				conn, _, _ := w.(http.Hijacker).Hijack()
				defer conn.Close()
				io.WriteString(conn, sent)
				closed <- hold(conn)
			})
			response, err := post(e, url)
			if err != nil || response.StatusCode != 101 || len(response.Body) != 0 {
				t.Errorf("got %+v, %v", response, err)
			}
			if !<-closed {
				t.Error("the client kept the connection")
			}
		})
	}
}

// An attempt is one POST: what a receiver has read is not sent again on another connection.
func TestPostIsNotRepeated(t *testing.T) {
	t.Parallel()
	const kept = 4
	var arriving sync.WaitGroup
	arriving.Add(kept)
	var calls atomic.Int32
	e, url := receiver(t, time.Minute, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) <= kept {
			arriving.Done()
			arriving.Wait() // so that each has a connection of its own
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
				t.Error(err)
			}
		})
	}
	posts.Wait()
	_, err := post(e, url)
	if err == nil || err.Error() != "the connection was closed without an answer" || calls.Load() != kept+1 {
		t.Errorf("%d POSTs, %v", calls.Load()-kept, err)
	}
}

// A kept connection that the receiver has closed in the meantime is replaced.
func TestClosedIdleConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	closed := make(chan struct{}, 2)
	server.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		switch state {
		case http.StateIdle:
			conn.(*tls.Conn).CloseWrite()
		case http.StateClosed: // by the client, when it has read that
			closed <- struct{}{}
		}
	}
	e, url := start(t, server, time.Minute)
	for range 2 {
		if response, err := post(e, url); err != nil || response.StatusCode != 200 {
			t.Errorf("%+v, %v", response, err)
		}
		<-closed
	}
}
