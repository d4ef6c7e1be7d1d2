package api

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// occupied takes all places of a website's requests until the returned function is called.
func (w *world) occupied(work *work, website app.WebsiteID) (release func()) {
	w.Helper()
	requests := &places{work: work}
	for range work.requests {
		w.must(requests.begin(w.Context(), gateLimit{gate{"requests", string(website)}, work.requests}))
	}
	return requests.leave
}

// The checks of a website's streams that do not progress use few connections. Another website is served, and its
// streams are checked.
func TestChecksOfStreamsOfAHostileNeighbour(t *testing.T) {
	t.Parallel()
	const streams = 20
	w := newWorld(t)
	server, db := w.serverOnPools()
	server.heartbeat, server.stopping = 100*time.Millisecond, nil
	listener := w.listen(server)
	for range streams {
		w.watch(listener, w.tokens["STAFF"])
	}
	other := w.watch(listener, w.tokens["FOREIGN"])
	website := w.stores["own"].website
	tx, err := w.db.System().DB.BeginTx(w.Context(), nil)
	w.must(err)
	w.Cleanup(func() { tx.Rollback() })
	_, err = tx.ExecContext(w.Context(), "SELECT FROM open_streams WHERE store_id = $1 FOR UPDATE", w.stores["own"].id)
	w.must(err)
	w.until("checks that wait", func() bool {
		return server.work.users("reads", website) == streams && pool(db, pg.RoleApp).InUse >= maxReads
	})
	for range 3 {
		w.doOn(server, "GET", "/products", w.tokens["FOREIGN"], nil).ok(200, nil)
		other.next(": still here")
	}
	if p := pool(db, pg.RoleApp); p.InUse > maxReads+1 || p.Refused != 0 {
		t.Errorf("pool: got %d connections in use and %d callers refused, want %d and 0", p.InUse, p.Refused, maxReads)
	}
	w.confirm("foreign")
	if got := other.order(); got.ID != w.stores["foreign"].order.ID {
		t.Errorf("stream of another website: got %+v, want a change of its order", got)
	}
	w.must(tx.Rollback())
}

// Beside requests that do not progress, the credential of a stream is checked at each heartbeat. Checks of a website
// that do not progress end its streams only.
func TestChecksOfCredentialsOfStreams(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var server *Server
	listener := w.streamsOn(func(s *Server) {
		s.heartbeat, s.work.wait = 500*time.Millisecond, time.Millisecond
		server = s
	})
	own, other := w.watch(listener, w.tokens["STAFF"]), w.watch(listener, w.tokens["FOREIGN"])
	website := w.stores["own"].website
	release := w.occupied(server.work, website)
	w.exec("DELETE FROM memberships WHERE store_id = $1 AND role = 'STAFF'", w.stores["own"].id)
	beats := 0
	for line := range own.lines {
		if line == ": still here" {
			beats++
		}
	}
	if beats == leaseBeats-1 { // one is possible before the membership ends
		t.Errorf("stream of a former member: got %d heartbeats, want its end at the next one", beats)
	}
	release()
	own = w.watch(listener, w.tokens["MANAGER"])
	checks := &places{work: server.work}
	for range maxChecks {
		w.must(checks.begin(t.Context(), gateLimit{gate{"checks", string(website)}, maxChecks}))
	}
	if got := own.next("data: "); got != "" {
		t.Errorf("stream beside checks that do not progress: got event %q, want its end", got)
	}
	w.confirm("foreign")
	if got := other.order(); got.ID != w.stores["foreign"].order.ID {
		t.Errorf("stream of another website: got %+v, want a change of its order", got)
	}
	checks.leave()
}

// While the requests of a website do not progress, the counts of its streams are neither renewed nor removed. The
// streams end when their leases do. Those of another website stay open.
func TestChecksOfStreamsWaitForRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var server *Server
	listener := w.streamsOn(func(s *Server) {
		s.heartbeat, s.work.wait = 50*time.Millisecond, time.Millisecond
		server = s
	})
	own, other := w.watch(listener, w.tokens["STAFF"]), w.watch(listener, w.tokens["FOREIGN"])
	release := w.occupied(server.work, w.stores["own"].website)
	if got := own.next("data: "); got != "" {
		t.Errorf("unchecked stream: got event %q, want its end", got)
	}
	w.until("end of the stream", func() bool {
		server.streams.mu.Lock()
		defer server.streams.mu.Unlock()
		return server.streams.open == 1
	})
	w.confirm("foreign")
	if got := other.order(); got.ID != w.stores["foreign"].order.ID {
		t.Errorf("stream of another website: got %+v, want a change of its order", got)
	}
	count := "SELECT count(*) FROM open_streams WHERE store_id = '" + string(w.stores["own"].id) + "'"
	if n := w.text(count); n != "1" {
		t.Errorf("streams that count beside requests that use all places: got %s, want 1", n)
	}
	release()
	w.watch(listener, w.tokens["STAFF"]).close()
	// The first stream counts until its lease ends.
	w.until("end of the count of the second stream", func() bool { return w.text(count) == "1" })
}

// A stream that cannot be opened is removed from the count with the place of its request.
func TestStreamsThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.serverOn(w.db.DB, func(c *Config) { c.Stopping = nil })
	server.work.requests, server.work.wait = 1, testTimeout
	server.orderFeed.feed = failingFeed{server.orderFeed}
	w.doOn(server, "GET", "/orders/stream", w.tokens["STAFF"], nil).refused(app.CodeUnavailable)
	if n := w.text("SELECT count(*) FROM open_streams"); n != "0" || server.streams.open != 0 {
		t.Errorf("streams that count: got %s and %d, want none", n, server.streams.open)
	}
}

// failingFeed is a feed whose connection breaks immediately.
type failingFeed struct{ feed }

func (failingFeed) listen(context.Context, func()) error { return errors.New("broken") }
