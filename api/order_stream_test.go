package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/comanda-dev/comanda/app"
)

// stream is an event stream that a client reads over a real connection.
type stream struct {
	*testing.T
	lines chan string // closed at its end
	close func()
}

// streamsOn serves over TLS. It limits the time to read and to write like the time of a request.
func (w *world) streamsOn(change func(*Server)) *httptest.Server {
	w.Helper()
	now := w.now // its clock stands still, because streams read it while a test changes that of the world
	server := w.serverOn(w.db.DB, func(c *Config) { c.Stopping, c.Now = nil, func() time.Time { return now } })
	server.orderFeed.every, server.eventFeed.every = time.Hour, time.Hour
	change(server)
	return w.listen(server)
}

// listen serves a server of streams over TLS.
func (w *world) listen(server *Server) *httptest.Server {
	w.Helper()
	return w.listenWith(server, server)
}

// listenWith is listen with a handler that calls the server.
func (w *world) listenWith(server *Server, handler http.Handler) *httptest.Server {
	w.Helper()
	listener := httptest.NewUnstartedServer(handler)
	listener.EnableHTTP2 = true
	listener.Config.WriteTimeout, listener.Config.ReadTimeout = server.timeout, server.timeout
	listener.StartTLS()
	w.Cleanup(listener.Close)
	return listener
}

func (w *world) watch(server *httptest.Server, token string, change ...func(*http.Request)) *stream {
	w.Helper()
	return w.watchPath(server, "/orders/stream", token, change...)
}

func (w *world) watchPath(server *httptest.Server, path, token string, change ...func(*http.Request)) *stream {
	w.Helper()
	response := w.requestOf(server, path, token, change...)
	if kind := response.Header.Get("Content-Type"); response.StatusCode != 200 || kind != "text/event-stream" {
		w.Fatalf("stream: got %s with %q, want 200 with text/event-stream", response.Status, kind)
	}
	lines := make(chan string, 1000)
	s := &stream{T: w.T, lines: lines, close: func() { response.Body.Close() }}
	w.Cleanup(s.close)
	go func() {
		defer close(lines)
		for body := bufio.NewScanner(response.Body); body.Scan(); {
			lines <- body.Text()
		}
	}()
	s.next("retry: ")
	return s
}

func (w *world) request(server *httptest.Server, token string, change ...func(*http.Request)) *http.Response {
	w.Helper()
	return w.requestOf(server, "/orders/stream", token, change...)
}

func (w *world) requestOf(server *httptest.Server, path, token string, change ...func(*http.Request)) *http.Response {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	w.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "GET", server.URL+path, nil)
	w.must(err)
	r.Header.Set("Authorization", "Bearer "+token)
	for _, f := range change {
		f(r)
	}
	response, err := server.Client().Do(r)
	w.must(err)
	return response
}

// next returns the rest of the next line that begins with a prefix, "" at the end of the stream.
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
			s.Fatalf("lines within 30 s: got none with the prefix %q, want one", prefix)
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
	_, err := w.db.ChangeOrderStatus(w.Context(), w.now, s.id, s.order.ID, 0,
		app.OrderStatusChange{To: app.OrderConfirmed})
	w.must(err)
}

// A stream sends each change of the store's orders, and none of other stores. It is open for longer than a request
// may take.
func TestStreamsOfOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.streamsOn(func(s *Server) { s.heartbeat, s.timeout = 100*time.Millisecond, 3*time.Second })
	own, sibling := w.stores["own"], w.stores["sibling"]
	user, key := w.watch(server, w.tokens["STAFF"]), w.watch(server, w.key("own", app.ScopeReadOrders))
	other := w.watch(server, w.token("OWNER", sibling.id))
	for range 35 {
		user.next(": still here") // for longer than the timeout
	}
	w.confirm("sibling")
	w.confirm("own")
	w.orderOf("own", w.addCustomer("own", "ada@example.com").Customer.ID)
	for name, s := range map[string]*stream{"user": user, "key": key} {
		w.run(name, func(t *testing.T) {
			want := orderEvent{ID: own.order.ID, Number: own.order.Number, Status: app.OrderConfirmed, Version: 2}
			if got := s.order(); got != want {
				t.Errorf("stream of the %s: got %+v, want %+v", name, got, want)
			}
			if got := s.order(); got.Status != app.OrderReceived || got.Version != 1 || got.ID == own.order.ID {
				t.Errorf("stream of the %s: got %+v, want a new order", name, got)
			}
		})
	}
	_, err := w.db.RecordPayment(w.Context(), w.now, own.id, own.order.ID, app.NewPayment{
		Provider: "CASH", TransactionID: "1", Status: app.PaymentSucceeded, AmountMinor: 100,
		Currency: own.order.Currency, PaymentMethod: "cash",
	}, nil)
	w.must(err)
	if got := user.order(); got.ID != own.order.ID || got.Version != 3 {
		t.Errorf("payment: got %+v, want version 3 of %s", got, own.order.ID)
	}
	if got := other.order(); got.ID != sibling.order.ID {
		t.Errorf("stream of the sibling: got %+v, want the order %s", got, sibling.order.ID)
	}
}

// TestStreamsOutliveTheirWriteDeadline: the time for a client to read an event is shorter than the interval of the
// heartbeats, and HTTP/2 applies a write deadline to idle streams too.
func TestStreamsOutliveTheirWriteDeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// A busy machine may take some time to write.
	server := w.streamsOn(func(s *Server) { s.heartbeat, s.writeTimeout = 3200*time.Millisecond, 3*time.Second })
	s := w.watch(server, w.tokens["STAFF"])
	if s.next(":") == "" {
		t.Fatal("got the end of the stream before its first heartbeat, want an open stream")
	}
	w.confirm("own")
	if got := s.order(); got.Version != 2 {
		t.Errorf("got %+v after the heartbeat, want version 2", got)
	}
}

// A stream ends with the credential that opened it.
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
				t.Errorf("got %q after the end of the session, want the end of the stream", got)
			}
			for deadline := time.Now().Add(30 * time.Second); w.text("SELECT count(*) FROM open_streams") != "0"; {
				if time.Now().After(deadline) {
					t.Fatal("the ended stream still counts against the limit of the store")
				}
			}
		})
	}
}

// A store has at most 50 open streams on all replicas together. They are counted from their start to their end.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	replicas := []*httptest.Server{w.streamsOn(func(*Server) {}), w.streamsOn(func(*Server) {})}
	first := w.watch(replicas[0], w.tokens["STAFF"])
	var opened, refused atomic.Int64
	wait := errgroup.Group{}
	for i := range perStream.streams.Store + 9 {
		wait.Go(func() error {
			switch status := w.request(replicas[i%2], w.tokens[string(app.Roles[i%4])]).StatusCode; status {
			case 200:
				opened.Add(1)
			case 429:
				refused.Add(1)
			default:
				t.Errorf("stream: got status %d, want 200 or 429", status)
			}
			return nil
		})
	}
	w.must(wait.Wait())
	if opened.Load() != int64(perStream.streams.Store)-1 || refused.Load() != 10 {
		t.Errorf("streams after the first: got %d opened and %d refused, want %d and 10",
			opened.Load(), refused.Load(), perStream.streams.Store-1)
	}
	response := w.request(replicas[0], w.tokens["STAFF"])
	body, _ := io.ReadAll(response.Body)
	if retry := response.Header.Get("Retry-After"); retry != "45" || response.StatusCode != 429 ||
		!strings.Contains(string(body), string(app.CodeRateLimited)) {
		t.Errorf("stream beyond the limit: got %d, Retry-After %q, want 429 and 45: %s", response.StatusCode, retry,
			body)
	}
	w.watch(replicas[0], w.token("OWNER", w.stores["sibling"].id))
	first.close()
	awaitStream(w, replicas[1])
	w.exec("UPDATE open_streams SET expires_at = now()") // as after the end of a killed process
	awaitStream(w, replicas[1])
}

// awaitStream waits until a stream can be opened.
func awaitStream(w *world, server *httptest.Server) {
	w.Helper()
	for deadline := time.Now().Add(30 * time.Second); w.request(server, w.tokens["STAFF"]).StatusCode != 200; {
		if time.Now().After(deadline) {
			w.Fatal("a stream that has ended still counts")
		}
	}
}

// A stream ends when its lease is lost, because another stream may have taken its place.
func TestStreamsEndWithTheirLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.streamsOn(func(s *Server) { s.heartbeat = 20 * time.Millisecond })
	s := w.watch(server, w.tokens["STAFF"])
	s.next(": still here")
	w.exec("UPDATE open_streams SET expires_at = now()")
	if got := s.next("data: "); got != "" {
		t.Errorf("stream after its lease: got event %q, want its end", got)
	}
}

// listening is a source of order notices in memory.
type listening func(ctx context.Context, began func(), changed func(app.OrderNotice)) error

func (l listening) ListenOrders(ctx context.Context, began func(), changed func(app.OrderNotice)) error {
	return l(ctx, began, changed)
}

func (listening) ChangedOrders(context.Context, []app.StoreID, time.Time) ([]app.OrderNotice, error) {
	return nil, nil
}

// A change whose notice is lost reaches the stream nevertheless. Neither a late notice nor a repeated one does.
func TestStreamsFindLostNotices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.streamsOn(func(s *Server) { s.orderFeed.every = 20 * time.Millisecond })
	s := w.watch(server, w.tokens["STAFF"])
	own := w.stores["own"].order
	w.exec("UPDATE orders SET version = 7, updated_at = $1 WHERE id = $2", noon, own.ID)
	got := s.order()
	if got.Version == 1 { // found before the change
		got = s.order()
	}
	if got.ID != own.ID || got.Version != 7 {
		t.Fatalf("missed change: got %+v, want version 7 of %s", got, own.ID)
	}
	for _, version := range []int{6, 7, 8} {
		w.exec("SELECT pg_notify('comanda_orders', $1)", fmt.Sprintf(
			`{"storeId": %q, "id": %q, "version": %d}`, w.stores["own"].id, own.ID, version))
	}
	if got := s.order(); got.Version != 8 {
		t.Errorf("notices of the versions 6, 7 and 8: got %+v, want version 8 only", got)
	}
}

// A stream that a client reads too slowly ends instead of omitting changes. It does not delay other streams.
func TestSlowStreamsEnd(t *testing.T) {
	t.Parallel()
	listens := make(chan func(app.OrderNotice), 1)
	stopped := make(chan struct{})
	f := newOrderFeed(listening(func(ctx context.Context, began func(), changed func(app.OrderNotice)) error {
		began()
		listens <- changed
		<-ctx.Done()
		close(stopped)
		return ctx.Err()
	}), time.Now, func(err error) { t.Error(err) })
	slow, err := f.watch(t.Context(), app.Principal{StoreID: "sto_1"})
	if err != nil {
		t.Fatal(err)
	}
	changed := <-listens
	for i := range maxNoticesBehind {
		changed(app.OrderNotice{StoreID: "sto_1", Version: int64(i)})
	}
	select {
	case <-slow.late:
		t.Error("the stream ended before its buffer was full")
	default:
	}
	changed(app.OrderNotice{StoreID: "sto_1", Version: maxNoticesBehind})
	changed(app.OrderNotice{StoreID: "sto_1", Version: maxNoticesBehind + 1})
	<-slow.late
	f.leave(slow)
	<-stopped
}

// Streams end when the connection that listens for changes breaks. The next stream opens another connection.
func TestStreamsEndWithTheListener(t *testing.T) {
	t.Parallel()
	broken := make(chan struct{})
	f := newOrderFeed(listening(func(ctx context.Context, began func(), _ func(app.OrderNotice)) error {
		began()
		select {
		case <-broken:
			return errors.New("broken")
		case <-ctx.Done():
			return ctx.Err()
		}
	}), time.Now, func(error) {})
	first, err := f.watch(t.Context(), app.Principal{StoreID: "sto_1"})
	if err != nil {
		t.Fatal(err)
	}
	broken <- struct{}{}
	<-first.connection.ended
	next, err := f.watch(t.Context(), app.Principal{StoreID: "sto_1"})
	if err != nil || next.connection == first.connection {
		t.Fatalf("join after a broken connection: got %v and the old listener %v, want a new one", err,
			next.connection == first.connection)
	}
	f.leave(first)
	f.leave(next)
	<-next.connection.ended
}

// Without a connection that listens for changes, no stream opens.
func TestNoStreamWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	failures := make(chan error, 1)
	failing := func(context.Context, func(), func(app.OrderNotice)) error { return errors.New("out of reach") }
	f := newOrderFeed(listening(failing),
		time.Now, func(err error) { failures <- err })
	if _, err := f.watch(t.Context(), app.Principal{StoreID: "sto_1"}); app.CodeOf(err) != app.CodeUnavailable {
		t.Errorf("join without a database: got %v, want %s", err, app.CodeUnavailable)
	}
	if <-failures == nil {
		t.Error("the failure to listen was not reported")
	}
}
