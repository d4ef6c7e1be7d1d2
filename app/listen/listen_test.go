package listen

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/webhook"
)

const (
	secret = "0123456789abcdef0123456789abcdef"
	event  = `{"id":"evt_1", "type":"order.created","storeId":"sto_1","timestamp":"2026-11-21T12:00:00.000Z",` +
		`"data":{"orderId":"1042","name":"Zoë <3","totalMinor":1850,"currency":"EUR","reason":"","items":[]}}`
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func options(t *testing.T, out io.Writer) Options {
	t.Helper()
	verifier, err := webhook.New(secret)
	if err != nil {
		t.Fatal(err)
	}
	verifier.Now = func() time.Time { return now }
	return Options{Verifier: verifier, Out: out}
}

// delivery returns a request with a signature of the given time.
func delivery(method, target, key, body string, at time.Time) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Comanda-Webhooks/1.0")
	r.Header.Set("X-Webhook-Id", "evt_1")
	r.Header.Set("X-Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
	r.Header.Set("X-Webhook-Signature", app.Sign(app.NewSecret(key), at.Unix(), []byte(body)))
	return r
}

func handle(o Options, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	Handler(o).ServeHTTP(w, r)
	return w
}

func TestHandlerOutput(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 1<<20+1)
	const stale = "✗ the timestamp is outside the tolerance: 5m1s, limit 5m0s"
	for name, test := range map[string]struct {
		key, body string
		at        time.Time
		status    int
		line      string
	}{
		"genuine": {
			secret, event, now, 204,
			"order.created          evt_1  orderId=1042  name=Zoë <3  totalMinor=1850  currency=EUR  ✓ verified",
		},
		"forged":       {strings.Repeat("x", 32), event, now, 401, "✗ the signature does not match"},
		"too old":      {secret, event, now.Add(-301 * time.Second), 401, stale},
		"too early":    {secret, event, now.Add(301 * time.Second), 401, stale},
		"not an event": {secret, "{}", now, 400, "✗ the body is not an event: id or type is missing"},
		"too large":    {secret, large, now, 413, "✗ the body is too large: the limit is 1048576 bytes"},
		"control characters": {
			secret, `{"id":"evt_1","type":"\u001b[2Jx","data":[]}`, now, 204,
			"[2Jx                   evt_1  ✓ verified",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text, lines bytes.Buffer
			o := options(t, &text)
			w := handle(o, delivery(http.MethodPost, "/any/path", test.key, test.body, test.at))
			wantText := now.Local().Format(time.TimeOnly) + "  " + test.line + "\n"
			if w.Code != test.status || text.String() != wantText {
				t.Errorf("status %d, output %q, want %d, %q", w.Code, &text, test.status, wantText)
			}
			o.JSON, o.Out = true, &lines
			handle(o, delivery(http.MethodPost, "/any/path", test.key, test.body, test.at))
			var line Line
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil || strings.Count(lines.String(), "\n") != 1 {
				t.Fatalf("JSON output %q: %v, want one line", &lines, err)
			}
			want := Line{ReceivedAt: now, Status: test.status}
			if test.status == 204 {
				var compact bytes.Buffer
				if err := json.Compact(&compact, []byte(test.body)); err != nil {
					t.Fatal(err)
				}
				want.Event = compact.Bytes()
			} else {
				want.Error = strings.TrimPrefix(test.line, "✗ ")
			}
			if diff := cmp.Diff(want, line); diff != "" {
				t.Errorf("JSON line (-want +got):\n%s", diff)
			}
		})
	}
	for _, method := range []string{http.MethodGet, http.MethodPut} {
		var out bytes.Buffer
		w := handle(options(t, &out), delivery(method, "/", secret, event, now))
		if w.Code != http.StatusMethodNotAllowed || out.Len() > 0 {
			t.Errorf("%s: status %d, output %q, want 405 and no output", method, w.Code, &out)
		}
	}
}

func TestForward(t *testing.T) {
	t.Parallel()
	var got []string
	var header http.Header
	status := http.StatusAccepted
	local := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got, header = append(got, r.Method+" "+r.URL.String()+" "+string(body)), r.Header
		w.Header().Set("Location", "/elsewhere")
		w.Header().Set("X-Response", "yes")
		w.WriteHeader(status)
		io.WriteString(w, "thanks")
	}))
	target, err := url.Parse(local.URL + "/inbox?a=1")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	o := options(t, &out)
	o.Next = Forward(target)

	request := delivery(http.MethodPost, "/hook?b=2", secret, event, now)
	for _, status = range []int{202, 204, 307, 401, 503} {
		got = nil
		out.Reset()
		w := handle(o, delivery(http.MethodPost, "/hook?b=2", secret, event, now))
		if w.Code != status || status != 204 && w.Body.String() != "thanks" || w.Header().Get("X-Response") != "yes" {
			t.Errorf("response %d %s, want the target's response with %d", w.Code, w.Body, status)
		}
		if diff := cmp.Diff([]string{"POST /inbox?a=1 " + event}, got); diff != "" {
			t.Errorf("forwarded requests (-want +got):\n%s", diff)
		}
		want := "✓ verified, response " + strconv.Itoa(status) + "\n"
		if status == 204 {
			want = "✓ verified\n"
		}
		if !strings.HasSuffix(out.String(), want) {
			t.Errorf("output %q, want the suffix %q", &out, want)
		}
		for name := range request.Header {
			if header.Get(name) != request.Header.Get(name) {
				t.Errorf("forwarded header %s: %q, want %q", name, header.Get(name), request.Header.Get(name))
			}
		}
		for name := range header {
			if name != "Content-Length" && name != "Connection" && request.Header.Get(name) == "" {
				t.Errorf("forwarded header %s: %q, want none", name, header.Get(name))
			}
		}
	}

	got = nil
	for _, refused := range []*http.Request{
		delivery(http.MethodPost, "/", strings.Repeat("x", 32), event, now),
		delivery(http.MethodPost, "/", secret, event, now.Add(-time.Hour)),
	} {
		if w := handle(o, refused); w.Code != http.StatusUnauthorized || len(got) > 0 {
			t.Errorf("unverified request: status %d, forwarded %q, want 401 and nothing forwarded", w.Code, got)
		}
	}

	local.Close()
	out.Reset()
	o.JSON = true
	w := handle(o, delivery(http.MethodPost, "/", secret, event, now))
	var line Line
	err = json.Unmarshal(out.Bytes(), &line)
	if err != nil || w.Code != http.StatusBadGateway || line.Status != w.Code ||
		!strings.Contains(line.Error, "refused") || len(line.Event) == 0 {
		t.Errorf("target not reachable: status %d, output %s, %v, want 502 with the event and an error",
			w.Code, &out, err)
	}
}

// If the target closes the connection within its response, so does the handler, and the request's line is printed.
func TestForwardIncompleteResponse(t *testing.T) {
	t.Parallel()
	local := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		io.WriteString(w, "half")
	}))
	t.Cleanup(local.Close)
	target, err := url.Parse(local.URL)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	o := options(t, &out)
	o.Next = Forward(target)
	front := httptest.NewServer(Handler(o))
	r := delivery(http.MethodPost, front.URL, secret, event, now)
	r.RequestURI = ""
	response, err := http.DefaultClient.Do(r)
	if err == nil {
		_, err = io.ReadAll(response.Body)
		response.Body.Close()
	}
	if err == nil {
		t.Error("the response was read completely, want an error")
	}
	front.Close() // waits for the handler
	if want := "✓ verified, response 200\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("output %q, want the suffix %q", &out, want)
	}
}

func TestServeFinishesOpenRequests(t *testing.T) {
	t.Parallel()
	tlsServer := httptest.NewUnstartedServer(nil) // provides a certificate and a client that trusts it
	tlsServer.StartTLS()
	t.Cleanup(tlsServer.Close)
	for name, certificate := range map[string]*tls.Certificate{"http": nil, "https": &tlsServer.TLS.Certificates[0]} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			served := make(chan error, 1)
			address := name + "://" + listener.Addr().String()
			handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				stop()
				for { // until the server refuses new connections
					connection, err := net.Dial("tcp", listener.Addr().String())
					if err != nil {
						break
					}
					connection.Close()
				}
				w.WriteHeader(http.StatusTeapot)
			})
			go func() { served <- Serve(ctx, listener, certificate, handler) }()
			response, err := tlsServer.Client().Post(address, "", nil)
			if err != nil || response.StatusCode != http.StatusTeapot {
				t.Errorf("request open at the end: %v, %v, want status 418", response, err)
			}
			if err := <-served; err != nil {
				t.Errorf("Serve returned %v, want nil", err)
			}
		})
	}
}

func TestServeReturnsListenerError(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	if err := Serve(t.Context(), listener, nil, nil); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve on a closed listener: %v, want %v", err, net.ErrClosed)
	}
}
