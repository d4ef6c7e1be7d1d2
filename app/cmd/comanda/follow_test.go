package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app/listen"
	"github.com/comanda-dev/comanda/app/webhook"
)

// fakeStream is a service whose stream of events is written by the test.
type fakeStream struct {
	*httptest.Server

	caFile string
	mu     sync.Mutex
	serve  func(n int, w http.ResponseWriter, r *http.Request) // n counts the connections, from 1
	opened int
}

func newFakeStream(t *testing.T, serve func(n int, w http.ResponseWriter, r *http.Request)) *fakeStream {
	t.Helper()
	f := &fakeStream{serve: serve}
	f.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/events/stream" {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		f.mu.Lock()
		f.opened++
		n := f.opened
		f.mu.Unlock()
		f.serve(n, w, r)
	}))
	t.Cleanup(f.Close)
	f.caFile = writeFile(t, "ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw}))
	return f
}

func sendEvents(w http.ResponseWriter, numbers ...int) {
	for _, n := range numbers {
		fmt.Fprintf(w, "event: order.created\nid: position %[1]d\nposition: %[1]d\nresource: order/ord_%[1]d\n"+
			"data: {\"id\":\"evt_%[1]d\",\"type\":\"order.created\","+
			"\"storeId\":\"sto_1\",\"timestamp\":\"2026-03-14T12:00:00.000Z\",\"data\":{}}\n\n", n)
	}
	_ = http.NewResponseController(w).Flush()
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"success":false,"error":{"code":%q,"message":"the reason",
		"details":[{"path":"Last-Event-ID","message":"is unknown"}]}}`, code)
}

// `comanda listen` with an API key forwards each event with a valid signature. After a break and after refusals for a
// time, it continues after the last event.
func TestFollow(t *testing.T) {
	t.Parallel()
	verifier, err := webhook.New(webhookSecret)
	if err != nil {
		t.Fatal(err)
	}
	arrived := make(chan string, 10)
	handler := verifier.Handler(func(_ context.Context, e webhook.Event) error {
		arrived <- e.ID
		return nil
	})
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		number := strings.TrimPrefix(r.Header.Get("X-Webhook-Id"), "evt_")
		if got := r.Header.Get("X-Webhook-Position"); got != number {
			t.Errorf("position of event %s: got %q", number, got)
		}
		if got := r.Header.Get("X-Webhook-Resource"); got != "order/ord_"+number {
			t.Errorf("resource of event %s: got %q", number, got)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(target.Close)
	service := newFakeStream(t, func(n int, w http.ResponseWriter, r *http.Request) {
		want := map[int]string{1: "", 2: "position 2", 3: "position 2", 4: "position 2"}[n]
		if r.URL.Path != "/events/stream" || r.URL.RawQuery != "type=order.created&type=payment.failed" ||
			r.Header.Get("Authorization") != "Bearer svc_test_sk_1" || r.Header.Get("Last-Event-ID") != want {
			t.Errorf("connection %d: got %s %q, want Last-Event-ID %q", n, r.URL, r.Header, want)
		}
		switch n {
		case 1:
			fmt.Fprint(w, "retry: 2000\nid: position 0\n\n: still here\n\n")
			sendEvents(w, 1, 2)
		case 2:
			refuse(w, 503, "UNAVAILABLE")
		case 3:
			w.WriteHeader(http.StatusBadGateway) // of a proxy
		default:
			sendEvents(w, 3)
			<-r.Context().Done()
		}
	})
	ctx, stop := context.WithCancel(t.Context())
	var out, notes bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{
			"listen", "--url", service.URL, "--ca-file", service.caFile, "--forward", target.URL,
			"--events", "order.created, payment.failed", "--json",
		}, map[string]string{keyVariable: "svc_test_sk_1", secretVariable: webhookSecret}, os.Stdin, &out, &notes)
	}()
	for _, want := range []string{"evt_1", "evt_2", "evt_3"} {
		if got := <-arrived; got != want {
			t.Errorf("forwarded event: got %s, want %s", got, want)
		}
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("exit status: got %d, want 0: %s", code, &notes)
	}
	var statuses []int
	for decoder := json.NewDecoder(&out); ; {
		var line listen.Forwarded
		if decoder.Decode(&line) == io.EOF {
			break
		}
		statuses = append(statuses, line.Status)
	}
	if diff := cmp.Diff([]int{204, 204}, statuses[:min(2, len(statuses))]); diff != "" {
		t.Errorf("statuses of the lines (-want +got):\n%s", diff)
	}
}

// A refusal that lasts ends the command with an error that says what to do.
func TestFollowIsRefused(t *testing.T) {
	t.Parallel()
	service := newFakeStream(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Authorization") {
		case "Bearer scopeless":
			refuse(w, 403, "INSUFFICIENT_SCOPE")
		case "Bearer unknown":
			refuse(w, 401, "TOKEN_INVALID")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	flags := []string{"--url", service.URL, "--ca-file", service.caFile}
	for name, test := range map[string]struct {
		key  string
		args []string
		code int
		want string
	}{
		"flag":           {"x", append(flags, "--api-key", "x"), 2, "comanda listen"},
		"scope":          {"scopeless", flags, 1, "needs the scope webhooks:manage"},
		"unknown key":    {"unknown", flags, 1, "401 TOKEN_INVALID: the reason"},
		"not Comanda":    {"other", flags, 1, "404: Not Found"},
		"certificate":    {"x", []string{"--url", service.URL}, 1, "--ca-file"},
		"event":          {"x", append(flags, "--events", "order.eaten"), 1, `unknown event type "order.eaten"`},
		"forward":        {"x", append(flags, "--forward", "ftp://x"), 1, "--forward"},
		"url":            {"x", []string{"--url", "localhost"}, 1, "--url"},
		"ca file":        {"x", []string{"--ca-file", "/none"}, 1, "--ca-file"},
		"no key":         {"", flags, 2, "comanda listen"},
		"events of POST": {"", []string{"--http", "--events", "order.created"}, 2, "comanda listen"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var notes bytes.Buffer
			code := run(t.Context(), append([]string{"listen"}, test.args...),
				map[string]string{keyVariable: test.key}, os.Stdin, io.Discard, &notes)
			if code != test.code || !strings.Contains(notes.String(), test.want) {
				t.Errorf("got exit status %d and %s, want %d and %q", code, &notes, test.code, test.want)
			}
		})
	}
}

// While the service cannot be reached, the notes show the reason.
func TestFollowUnreachable(t *testing.T) {
	t.Parallel()
	service := newFakeStream(t, nil)
	service.Close()
	reader, notes := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		run(ctx, []string{"listen", "--url", service.URL, "--ca-file", service.caFile},
			map[string]string{keyVariable: "x"}, os.Stdin, io.Discard, notes)
		notes.Close()
		close(ended)
	}()
	lines := bufio.NewScanner(reader)
	for lines.Scan() && !strings.Contains(lines.Text(), "connection lost") {
	}
	if !strings.Contains(lines.Text(), "connection refused") {
		t.Errorf("got the note %q, want the reason", lines.Text())
	}
	stop()
	_, _ = io.Copy(io.Discard, reader)
	<-ended
}

// If the events after the last one are erased, the command says so and continues with the next event.
func TestFollowAfterErasedEvents(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	service := newFakeStream(t, func(n int, w http.ResponseWriter, r *http.Request) {
		switch n {
		case 1:
			sendEvents(w, 1)
		case 2:
			refuse(w, 400, "VALIDATION_FAILED")
		default:
			if r.Header.Get("Last-Event-ID") != "" {
				t.Errorf("connection after the refusal: got a Last-Event-ID, want none")
			}
			close(done)
			<-r.Context().Done()
		}
	})
	ctx, stop := context.WithCancel(t.Context())
	var notes bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"listen", "--url", service.URL, "--ca-file", service.caFile},
			map[string]string{keyVariable: "x"}, os.Stdin, io.Discard, &notes)
	}()
	<-done
	stop()
	if code := <-ended; code != 0 || !strings.Contains(notes.String(), "erased") {
		t.Errorf("got exit status %d and %s, want 0 and a note of erased events", code, &notes)
	}
}

// `comanda trigger` refuses keys with which it could change a live store, and unknown types. Then it changes nothing.
func TestTriggerRefuses(t *testing.T) {
	t.Parallel()
	store := func(mode, scopes string) func(int, http.ResponseWriter, *http.Request) {
		return func(_ int, w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || r.URL.Path != "/store" {
				t.Errorf("request: got %s %s, want GET /store only", r.Method, r.URL)
			}
			fmt.Fprintf(w, `{"success":true,"data":{"mode":%q,"scopes":[%s]}}`, mode, scopes)
		}
	}
	redirect := func(_ int, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/store" {
			t.Errorf("request: got %s %s, want no other than GET /store", r.Method, r.URL)
		}
		http.Redirect(w, r, "/moved", http.StatusMovedPermanently)
	}
	for name, test := range map[string]struct {
		serve func(int, http.ResponseWriter, *http.Request)
		key   string
		args  []string
		code  int
		want  string
	}{
		"live key":   {store("live", ""), "svc_live_sk_1", []string{"order.created"}, 1, "live key"},
		"live store": {store("live", `"write:orders"`), "svc_test_sk_1", []string{"order.created"}, 1, "live key"},
		"scope": {store("test", `"write:orders"`), "svc_test_sk_1", []string{"order.created"}, 1,
			"lacks write:products"},
		"unknown type": {nil, "svc_test_sk_1", []string{"customer.updated"}, 1,
			"supported are customer.created, order.cancelled"},
		"no key": {nil, "", []string{"order.created"}, 1, keyVariable},
		"clear text": {nil, "svc_test_sk_1", []string{"order.created", "--url", "http://comanda.invalid"}, 1,
			"must begin with https://"},
		"redirect":     {redirect, "svc_test_sk_1", []string{"order.created"}, 1, "/moved refused"},
		"two types":    {nil, "svc_test_sk_1", []string{"order.created", "order.completed"}, 2, "comanda trigger"},
		"unknown flag": {nil, "svc_test_sk_1", []string{"order.created", "--live"}, 2, "comanda trigger"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFakeStream(t, test.serve)
			var notes bytes.Buffer
			code := run(t.Context(), append([]string{"trigger", "--url", service.URL, "--ca-file", service.caFile},
				test.args...), map[string]string{keyVariable: test.key}, os.Stdin, io.Discard, &notes)
			if code != test.code || !strings.Contains(notes.String(), test.want) {
				t.Errorf("got exit status %d and %s, want %d and %q", code, &notes, test.code, test.want)
			}
		})
	}
	var out bytes.Buffer
	if code := run(t.Context(), []string{"trigger"}, nil, os.Stdin, &out, io.Discard); code != 0 ||
		!strings.Contains(out.String(), "order.created\n") {
		t.Errorf("without a type: got exit status %d and %s, want 0 and the types", code, &out)
	}
}
