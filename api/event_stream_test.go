package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// sentEvent is an event of a stream.
type sentEvent struct{ Type, Cursor, Data, Position string }

// event returns the next event of a stream, a zero value at its end.
func (s *stream) event() sentEvent {
	s.Helper()
	e := sentEvent{Type: s.next("event: ")}
	e.Cursor = s.next("id: ")
	e.Position = s.next("position: ")
	e.Data = s.next("data: ")
	return e
}

// newStreamWorld returns a world in which events may have any body.
func newStreamWorld(t *testing.T) *world {
	t.Helper()
	w := newEmptyWorld(t, persistencetest.New(t))
	w.addRows()
	return w
}

// follow opens a stream of events. last is a Last-Event-ID, "" = none.
func (w *world) follow(server *httptest.Server, query, last string) *stream {
	w.Helper()
	return w.watchPath(server, "/events/stream"+query, w.tokens["ADMIN"], func(r *http.Request) {
		if last != "" {
			r.Header.Set("Last-Event-ID", last)
		}
	})
}

// emits dispatches an event with a number.
func (w *world) emits(number int, kind app.EventType) {
	w.Helper()
	w.insertEvent(kind, fmt.Sprintf(`{"number":%d}`, number))
	w.dispatch()
}

func (w *world) insertEvent(kind app.EventType, body string) {
	w.Helper()
	w.inserted++
	at := w.now.Add(time.Duration(w.inserted) * time.Millisecond) // ids sort by time
	w.exec(persistencetest.InsertEvent,
		app.NewID[app.EventID](at), w.stores["own"].id, kind, body, at)
}

func (s *stream) wantNumbers(from, to int) (last string) {
	s.Helper()
	for number := from; number <= to; number++ {
		e := s.event()
		if want := fmt.Sprintf(`{"number":%d}`, number); e.Data != want {
			s.Fatalf("event: got %+v, want %s", e, want)
		}
		last = e.Cursor
	}
	return last
}

// A stream starts with the next event. After a break, it continues without loss and without repetition, also on another
// process and before its first event.
func TestEventStreamsContinue(t *testing.T) {
	t.Parallel()
	w := newStreamWorld(t)
	first := w.streamsOn(func(*Server) {})
	s := w.follow(first, "", "")
	start := s.next("id: ")
	w.emits(1, app.EventOrderCreated)
	w.emits(2, app.EventProductUpdated)
	e := s.event()
	if e.Type != "order.created" || e.Data != `{"number":1}` {
		t.Errorf("first event: got %+v, want number 1", e)
	}
	last := s.wantNumbers(2, 2)
	first.CloseClientConnections() // as at a restart
	if e := s.event(); e != (sentEvent{}) {
		t.Errorf("stream after the end of the process: got %+v, want its end", e)
	}
	for number := 3; number <= 250; number++ { // more than one page
		w.insertEvent(app.EventOrderCreated, fmt.Sprintf(`{"number":%d}`, number))
	}
	w.dispatch()
	second := w.streamsOn(func(*Server) {})
	s = w.follow(second, "", last)
	s.wantNumbers(3, 250)
	w.emits(251, app.EventOrderCreated)
	s.wantNumbers(251, 251)
	all := w.follow(second, "", start)
	all.wantNumbers(1, 251)
	w.emits(252, app.EventOrderCreated)
	all.wantNumbers(252, 252)
	s.wantNumbers(252, 252)

	// The list and the stream have the same positions and bodies.
	rows := w.listedEvents(url.Values{"order": {"asc"}, "cursor": {start}})
	if got := fmt.Sprint(*rows[0].Position); got != e.Position {
		t.Errorf("position of the first event: got %s in the list and %s in the stream", got, e.Position)
	}
	if len(rows) != 252 || *rows[1].Cursor != last {
		t.Errorf("events after the start: got %d, the second at %s, want 252 and %s", len(rows), *rows[1].Cursor, last)
	}
}

// A stream of some types sends only these, and passes the others. Its heartbeats carry the position.
func TestEventStreamsOfTypes(t *testing.T) {
	t.Parallel()
	w := newStreamWorld(t)
	server := w.streamsOn(func(s *Server) { s.heartbeat = 50 * time.Millisecond })
	s := w.follow(server, "?type=payment.failed&type=order.cancelled", "")
	start := s.next("id: ")
	w.emits(0, app.EventOrderCreated)
	passed := start
	for passed == start {
		s.next(": still here")
		passed = s.next("id: ")
	}
	w.emits(1, app.EventPaymentFailed)
	w.emits(0, app.EventOrderCompleted)
	w.emits(2, app.EventOrderCancelled)
	s.lines = dataOnly(s.lines)
	for number := 1; number <= 2; number++ {
		if got := s.next("data: "); got != fmt.Sprintf(`{"number":%d}`, number) {
			t.Errorf("event: got %s, want number %d", got, number)
		}
	}
	again := w.follow(server, "?type=order.cancelled", passed)
	again.lines = dataOnly(again.lines)
	if got := again.next("data: "); got != `{"number":2}` {
		t.Errorf("event after the position of a heartbeat: got %s, want number 2", got)
	}
}

// dataOnly passes on the lines with data.
func dataOnly(lines chan string) chan string {
	data := make(chan string, cap(lines))
	go func() {
		defer close(data)
		for line := range lines {
			if strings.HasPrefix(line, "data: ") {
				data <- line
			}
		}
	}()
	return data
}

// An event that is committed late, with an earlier id, is neither skipped nor repeated.
func TestEventStreamsSendLateEvents(t *testing.T) {
	t.Parallel()
	w := newStreamWorld(t)
	server := w.streamsOn(func(*Server) {})
	s := w.follow(server, "", "")
	tx, err := w.db.System().DB.BeginTx(t.Context(), nil)
	w.must(err)
	defer tx.Rollback()
	_, err = tx.ExecContext(t.Context(),
		persistencetest.InsertEvent,
		app.NewID[app.EventID](noon.Add(-time.Minute)), w.stores["own"].id, app.EventOrderCreated, `{"number":2}`,
		noon.Add(-time.Minute))
	w.must(err)
	w.emits(1, app.EventOrderCreated)
	first := s.wantNumbers(1, 1)
	w.must(tx.Commit())
	w.dispatch()
	s.wantNumbers(2, 2)
	w.emits(3, app.EventOrderCreated)
	s.wantNumbers(3, 3)
	w.follow(server, "", first).wantNumbers(2, 3)
}

// A stream omits events whose body is erased. It does not begin at a position that is unknown, belongs to another
// store, or precedes erased events.
func TestEventStreamPositions(t *testing.T) {
	t.Parallel()
	w := newStreamWorld(t)
	server := w.streamsOn(func(*Server) {})
	s := w.follow(server, "", "")
	start := s.next("id: ")
	for number := 1; number <= 3; number++ {
		w.emits(number, app.EventOrderCreated)
	}
	first := s.wantNumbers(1, 1)
	s.wantNumbers(2, 3)
	w.exec(`UPDATE outbox SET body = NULL WHERE body = '{"number":2}'`)
	again := w.follow(server, "", start)
	again.wantNumbers(1, 1)
	again.wantNumbers(3, 3)

	refused := func(name, token string, last ...string) {
		t.Helper()
		a := w.do("GET", "/events/stream", token, nil, func(r *http.Request) { r.Header["Last-Event-Id"] = last })
		if a.refused(app.CodeValidationFailed, "Last-Event-ID").Code != 400 {
			t.Errorf("%s: got %d, want 400", name, a.Code)
		}
	}
	owner := w.tokens["OWNER"]
	refused("garbage", owner, "x")
	refused("an event id", owner, string(w.stores["own"].delivery.EventID))
	refused("too long", owner, strings.Repeat("a", 513))
	refused("two", owner, start, start)
	refused("of another store", w.token("OWNER", w.stores["sibling"].id), first)
	ahead := (&Server{cursors: newCursors(persistencetest.Keyring())}).sealPosition(w.stores["own"].id, 1<<62)
	refused("not yet given", owner, ahead)
	w.exec("UPDATE event_heads SET erased = position - 1")
	refused("before erased events", owner, first)
	w.do("GET", "/events/stream?type=test.ping", owner, nil).refused(app.CodeValidationFailed, "type[0]")
	w.do("GET", "/events/stream?limit=1", owner, nil).refused(app.CodeValidationFailed, "limit")
}

// Streams of events count against the limit of their store, and end with their API key.
func TestEventStreamsAreLimited(t *testing.T) {
	t.Parallel()
	w := newStreamWorld(t)
	server := w.streamsOn(func(s *Server) { s.heartbeat = 20 * time.Millisecond })
	key := w.key("own", app.ScopeManageWebhooks)
	s := w.watchPath(server, "/events/stream", key)
	s.next(": still here")
	w.exec(`INSERT INTO open_streams SELECT 'req_' || n, $1, now() + interval '1 hour' FROM generate_series(1, 49) n`,
		w.stores["own"].id)
	if status := w.requestOf(server, "/events/stream", key).StatusCode; status != 429 {
		t.Errorf("stream 51 of the store: got %d, want 429", status)
	}
	w.exec("UPDATE api_keys SET revoked_at = $1", noon)
	for s.next(": still here") != "" || len(s.lines) > 0 {
		continue
	}
	for deadline := time.Now().Add(30 * time.Second); w.text("SELECT count(*) FROM open_streams") != "49"; {
		if time.Now().After(deadline) {
			t.Fatal("the stream of a revoked key is still open")
		}
	}
}

// A client that does not read is disconnected.
func TestSlowClientsOfEventsAreDisconnected(t *testing.T) {
	t.Parallel()
	w := newStreamWorld(t)
	server := w.streamsOn(func(s *Server) { s.writeTimeout = 200 * time.Millisecond })
	request, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/events/stream", nil)
	w.must(err)
	request.Header.Set("Authorization", "Bearer "+w.tokens["OWNER"])
	response, err := server.Client().Do(request)
	w.must(err)
	defer response.Body.Close()
	big := `{"x":"` + strings.Repeat("x", 1<<19) + `"}`
	for range 32 {
		w.insertEvent(app.EventOrderCreated, big)
	}
	w.dispatch()
	for deadline := time.Now().Add(time.Minute); w.text("SELECT count(*) FROM open_streams") != "0"; {
		if time.Now().After(deadline) {
			t.Fatal("the stream of a client that does not read is still open")
		}
	}
}

// slowReader is a client that takes a time to read an event.
type slowReader struct {
	http.ResponseWriter
	wait time.Duration
}

func (s slowReader) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s slowReader) Write(text []byte) (int, error) {
	if strings.HasPrefix(string(text), "event: ") {
		time.Sleep(s.wait)
	}
	return s.ResponseWriter.Write(text)
}

// The credential of a stream is checked, and its lease renewed, also while it sends old events to a slow client.
func TestChecksOfStreamsThatCatchUp(t *testing.T) {
	t.Parallel()
	const events, beat = 50, 20 * time.Millisecond
	w := newStreamWorld(t)
	start := w.follow(w.streamsOn(func(*Server) {}), "", "").next("id: ")
	for number := range events {
		w.insertEvent(app.EventOrderCreated, fmt.Sprintf(`{"number":%d}`, number))
	}
	w.dispatch()
	server := w.serverOn(w.db.DB, func(c *Config) { c.Stopping = nil })
	server.heartbeat = beat
	listener := w.listenWith(server, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		server.ServeHTTP(slowReader{rw, 2 * beat}, r)
	}))
	s := w.follow(listener, "", start)
	last, beats := fmt.Sprintf(`data: {"number":%d}`, events-1), 0
	for line := range s.lines {
		if line == ": still here" {
			beats++
		}
		if line == last {
			break
		}
	}
	if beats < events/5 {
		t.Errorf("heartbeats before the last of %d events, each of two heartbeats: got %d", events, beats)
	}
}
