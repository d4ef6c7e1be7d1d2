package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// stream is one that a client reads over a real connection.
type stream struct {
	*testing.T
	lines chan string // closed at its end
	close func()
}

// streamsOn serves over TLS with little time for writing, which streams must outlive.
func (w *world) streamsOn(change func(*Server)) *httptest.Server {
	w.Helper()
	server := w.serverOn(w.db.DB, func(c *Config) { c.Stopping = nil; c.Timeout = 200 * time.Millisecond })
	change(server)
	listener := httptest.NewUnstartedServer(server)
	listener.EnableHTTP2 = true
	listener.Config.WriteTimeout, listener.Config.ReadTimeout = 200*time.Millisecond, 200*time.Millisecond
	listener.StartTLS()
	w.Cleanup(listener.Close)
	return listener
}

func (w *world) watch(server *httptest.Server, token string, change ...func(*http.Request)) *stream {
	w.Helper()
	response := w.request(server, token, change...)
	if kind := response.Header.Get("Content-Type"); response.StatusCode != 200 || kind != "text/event-stream" {
		w.Fatalf("%s with %s", response.Status, kind)
	}
	s := &stream{T: w.T, lines: make(chan string, 1000), close: func() { response.Body.Close() }}
	w.Cleanup(s.close)
	go func() {
		defer close(s.lines)
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			s.lines <- lines.Text()
		}
	}()
	s.next("retry: ")
	return s
}

func (w *world) request(server *httptest.Server, token string, change ...func(*http.Request)) *http.Response {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	w.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/orders/stream", nil)
	w.must(err)
	r.Header.Set("Authorization", "Bearer "+token)
	for _, f := range change {
		f(r)
	}
	response, err := server.Client().Do(r)
	w.must(err)
	return response
}

// next returns the rest of the next line that begins like this, "" at the stream's end.
func (s *stream) next(prefix string) string {
	s.Helper()
	deadline := time.After(30 * time.Second)
	for {
		select {
		case line, more := <-s.lines:
			if !more {
				return ""
			}
			if rest, found := strings.CutPrefix(line, prefix); found {
				return rest
			}
		case <-deadline:
			s.Fatalf("no line begins with %q", prefix)
		}
	}
}

func (s *stream) order() orderEvent {
	s.Helper()
	var e orderEvent
	if data := s.next("data: "); data != "" {
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			s.Fatal(err)
		}
	}
	return e
}

func (w *world) confirm(store string) {
	w.Helper()
	s := w.stores[store]
	_, err := w.db.ChangeOrderStatus(w.Context(), w.now, s.id, s.order.ID, 0, app.OrderStatusChange{To: app.OrderConfirmed})
	w.must(err)
}

// TestStreamsOfOrders: every change of the store's orders comes, no other store's, and the
// stream outlives the limits of ordinary requests.
func TestStreamsOfOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.streamsOn(func(s *Server) { s.heartbeat = 50 * time.Millisecond })
	own, sibling := w.stores["own"], w.stores["sibling"]
	user, key := w.watch(server, w.tokens["STAFF"]), w.watch(server, w.key("own", app.ScopeReadOrders))
	other := w.watch(server, w.token("OWNER", sibling.id))
	for range 10 {
		user.next(": still here") // half a second: longer than a write or a request may take
	}
	w.confirm("sibling")
	w.confirm("own")
	w.orderOf("own", w.addCustomer("own", "ada@example.com").Customer.ID)
	for name, s := range map[string]*stream{"user": user, "key": key} {
		if got, want := s.order(), (orderEvent{own.order.ID, own.order.Number, app.OrderConfirmed, 2}); got != want {
			t.Errorf("the %s hears of %+v instead of %+v", name, got, want)
		}
		if got := s.order(); got.Status != app.OrderReceived || got.Version != 1 || got.ID == own.order.ID {
			t.Errorf("the %s hears of %+v", name, got)
		}
	}
	_, err := w.db.RecordPayment(w.Context(), w.now, own.id, own.order.ID, app.NewPayment{
		Provider: "CASH", TransactionID: "1", Status: app.PaymentSucceeded, AmountMinor: 100, Currency: own.order.Currency, PaymentMethod: "cash",
	}, nil, nil)
	w.must(err)
	if got := user.order(); got.ID != own.order.ID || got.Version != 3 {
		t.Errorf("of a payment it hears %+v", got)
	}
	if got := other.order(); got.ID != sibling.order.ID {
		t.Errorf("the sibling hears of %+v", got)
	}
}

// TestStreamsEnd with the credential that they were begun with.
func TestStreamsEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*world, *atomic.Int64){
		"the session ends": func(w *world, _ *atomic.Int64) {
			w.exec("UPDATE sessions SET ended_at = $1 WHERE ended_at IS NULL", noon)
		},
		"the role goes":     func(w *world, _ *atomic.Int64) { w.exec("DELETE FROM memberships") },
		"the token expires": func(_ *world, late *atomic.Int64) { late.Store(int64(time.Hour)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var late atomic.Int64
			server := w.streamsOn(func(s *Server) {
				s.heartbeat = 20 * time.Millisecond
				s.now = func() time.Time { return noon.Add(time.Duration(late.Load())) }
			})
			s := w.watch(server, w.tokens["STAFF"])
			s.next(": still here")
			end(w, &late)
			if got := s.next("data: "); got != "" {
				t.Errorf("it goes on with %q", got)
			}
		})
	}
}

// TestStreamsAreBounded for each login, and given back when they end.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.streamsOn(func(*Server) {})
	first := w.watch(server, w.tokens["STAFF"])
	for range maxWatchersEach - 1 {
		w.watch(server, w.tokens["STAFF"])
	}
	response := w.request(server, w.tokens["STAFF"])
	body, _ := io.ReadAll(response.Body)
	if response.StatusCode != 422 || !strings.Contains(string(body), string(app.CodeLimitReached)) {
		t.Errorf("%d: %s", response.StatusCode, body)
	}
	w.watch(server, w.tokens["MANAGER"])
	first.close()
	for deadline := time.Now().Add(30 * time.Second); w.request(server, w.tokens["STAFF"]).StatusCode != 200; {
		if time.Now().After(deadline) {
			t.Fatal("what has ended still counts")
		}
	}
}

// TestSlowStreamsEnd instead of leaving something out, and nobody waits for them.
func TestSlowStreamsEnd(t *testing.T) {
	t.Parallel()
	told := make(chan func(app.OrderNotice))
	stopped := make(chan struct{})
	f := newOrderFeed(func(ctx context.Context, began func(), heard func(app.OrderNotice)) error {
		began()
		told <- heard
		<-ctx.Done()
		close(stopped)
		return ctx.Err()
	}, func(err error) { t.Error(err) })
	slow, err := f.join(t.Context(), app.Principal{StoreID: "sto_1", SessionID: "ses_1"})
	if err != nil {
		t.Fatal(err)
	}
	heard := <-told
	for range watcherBacklog {
		heard(app.OrderNotice{StoreID: "sto_1"})
	}
	select {
	case <-slow.late:
		t.Error("it ended too soon")
	default:
	}
	heard(app.OrderNotice{StoreID: "sto_1"})
	heard(app.OrderNotice{StoreID: "sto_1"})
	<-slow.late
	f.leave(slow)
	<-stopped
}

// TestStreamsEndWithTheirEar: none goes on that might miss something, and the next hears.
func TestStreamsEndWithTheirEar(t *testing.T) {
	t.Parallel()
	broken := make(chan struct{})
	f := newOrderFeed(func(ctx context.Context, began func(), _ func(app.OrderNotice)) error {
		began()
		select {
		case <-broken:
			return errors.New("broken")
		case <-ctx.Done():
			return ctx.Err()
		}
	}, func(error) {})
	first, err := f.join(t.Context(), app.Principal{StoreID: "sto_1"})
	if err != nil {
		t.Fatal(err)
	}
	broken <- struct{}{}
	<-first.ear.ended
	next, err := f.join(t.Context(), app.Principal{StoreID: "sto_1"})
	if err != nil || next.ear == first.ear {
		t.Fatal(err)
	}
	f.leave(first)
	f.leave(next)
	<-next.ear.ended
}

// TestNoStreamWithoutTheDatabase: what cannot hear does not begin.
func TestNoStreamWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	failures := make(chan error, 1)
	f := newOrderFeed(func(context.Context, func(), func(app.OrderNotice)) error { return errors.New("out of reach") }, func(err error) { failures <- err })
	if _, err := f.join(t.Context(), app.Principal{StoreID: "sto_1"}); app.CodeOf(err) != app.CodeUnavailable {
		t.Error(err)
	}
	if <-failures == nil {
		t.Error("nobody learns why")
	}
}
