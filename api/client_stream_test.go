package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// client returns a Go client of a server, with an API key.
func (w *world) client(server *httptest.Server, key string) *comanda.Client {
	w.Helper()
	c, err := comanda.New(server.URL, comanda.Config{APIKey: key, HTTP: server.Client()})
	w.must(err)
	return c
}

// numbered returns the number in the body of an event.
func (w *world) numbered(e comanda.StreamedEvent) (number int) {
	w.Helper()
	_, err := fmt.Sscanf(string(e.Body), `{"number":%d`, &number)
	w.must(err)
	return number
}

// The Go client receives each event once and in order, although the service restarts at each tenth event and is away
// for a time.
func TestClientStreamSurvivesRestarts(t *testing.T) {
	t.Parallel()
	w := newStreamWorld(t)
	start := func() *Server {
		server := w.serverOn(w.db.DB, func(c *Config) { c.Stopping = nil })
		server.eventFeed.every = time.Hour
		return server
	}
	var running atomic.Pointer[Server] // nil = away
	running.Store(start())
	front := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if server := running.Load(); server != nil {
			server.ServeHTTP(rw, r)
			return
		}
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(front.Close)
	w.emits(0, app.EventOrderCreated) // before the stream

	const last = 30
	want, away := 1, make(chan struct{}, 100)
	params := comanda.StreamEventsParams{
		Connected:   sync.OnceFunc(func() { w.emits(1, app.EventOrderCreated) }),
		Interrupted: func(error, time.Duration) { away <- struct{}{} },
	}
	for e, err := range w.client(front, w.key("own", app.ScopeManageWebhooks)).StreamEvents(t.Context(), params) {
		w.must(err)
		if got := w.numbered(e); got != want {
			t.Fatalf("event: got %d, want %d", got, want)
		}
		if want == last {
			break
		}
		want++
		w.emits(want, app.EventOrderCreated)
		if want%10 != 0 {
			continue
		}
		running.Store(nil)
		front.CloseClientConnections()
		go func() { // the client has failed to connect before the service returns
			<-away
			running.Store(start())
		}()
	}
}

// A program that reads too slowly is disconnected. Its client continues without loss and without repetition.
func TestClientStreamReadsSlowly(t *testing.T) {
	t.Parallel()
	w := newStreamWorld(t)
	server := w.streamsOn(func(s *Server) { s.writeTimeout = 200 * time.Millisecond })
	const events = 40 // more than the buffers of the connection and the service hold
	insert := func() {
		padding := strings.Repeat("x", 1<<19)
		for number := range events {
			w.insertEvent(app.EventOrderCreated, fmt.Sprintf(`{"number":%d,"x":%q}`, number, padding))
		}
		w.dispatch()
	}
	breaks := 0
	params := comanda.StreamEventsParams{
		Connected:   sync.OnceFunc(insert),
		Interrupted: func(error, time.Duration) { breaks++ },
	}
	want := 0
	for e, err := range w.client(server, w.key("own", app.ScopeManageWebhooks)).StreamEvents(t.Context(), params) {
		w.must(err)
		if got := w.numbered(e); got != want {
			t.Fatalf("event: got %d, want %d", got, want)
		}
		if want == 0 {
			for deadline := time.Now().Add(time.Minute); w.text("SELECT count(*) FROM open_streams") != "0"; {
				if time.Now().After(deadline) {
					t.Fatal("the stream of a program that does not read is still open")
				}
			}
		}
		if want++; want == events {
			break
		}
	}
	if breaks == 0 {
		t.Error("breaks: got none, want at least one")
	}
}

// A thousand clients, fifty of each store, receive the events of their store, each once and in order.
func TestThousandClientStreams(t *testing.T) {
	t.Parallel()
	w := newStreamWorld(t)
	server := w.streamsOn(func(*Server) {})
	const stores, each, events = 20, 50, 3
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var open, received sync.WaitGroup
	var ids []app.StoreID
	for i := range stores {
		name := fmt.Sprintf("streams%d.example", i)
		website := identity.NewWebsite{Name: name, Domain: name, Plan: app.PlanEnterprise}
		_, created, err := w.db.CreateWebsite(ctx, w.now, website, identity.NewStore{
			Name: name, CountryCode: "DE", Timezone: "Europe/Berlin",
			Views: []app.StoreView{{Code: "de_de", Locale: "de-DE", Currency: "EUR"}},
		})
		w.must(err)
		ids = append(ids, created[0])
		issued, err := w.db.IssueAPIKey(ctx, w.now, created[0],
			app.NewAPIKey{Name: "Test", Scopes: []app.Scope{app.ScopeManageWebhooks}})
		w.must(err)
		c := w.client(server, issued.Key.Reveal())
		open.Add(each)
		for range each {
			received.Go(func() {
				if err := receive(ctx, c, fmt.Sprint("store ", i), events, sync.OnceFunc(open.Done)); err != nil {
					t.Error(err)
				}
			})
		}
	}
	open.Wait()
	for number := range events {
		for i, id := range ids {
			at := w.now.Add(time.Duration(number*stores+i) * time.Millisecond)
			w.exec(persistencetest.InsertEvent,
				app.NewID[app.EventID](at), id, app.EventOrderCreated,
				fmt.Sprintf(`{"number":%d,"id":"store %d"}`, number, i), at)
		}
	}
	w.dispatch()
	received.Wait()
}

// receive returns an error unless a client receives the events of its store, in order. It calls open when its stream is
// open, or when it fails.
func receive(ctx context.Context, c *comanda.Client, id string, events int, open func()) error {
	defer open()
	number := 0
	for e, err := range c.StreamEvents(ctx, comanda.StreamEventsParams{Connected: open}) {
		if err != nil {
			return err
		}
		if want := fmt.Sprintf(`{"number":%d,"id":%q}`, number, id); string(e.Body) != want {
			return fmt.Errorf("event: got %s, want %s", e.Body, want)
		}
		if number++; number == events {
			break
		}
	}
	return nil
}
