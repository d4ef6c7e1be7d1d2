package api

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// fakeEvents is a source of events in memory.
type fakeEvents struct {
	mu     sync.Mutex
	events map[app.StoreID][]app.StoredEvent
	reads  int
	notify func(app.StoreID)
	during func(app.StoreID) // called by each read; nil = nothing
	broken app.StoreID       // whose events cannot be read
}

func (f *fakeEvents) ListenEvents(ctx context.Context, began func(), dispatched func(app.StoreID)) error {
	f.mu.Lock()
	f.notify = dispatched
	f.mu.Unlock()
	began()
	<-ctx.Done()
	return ctx.Err()
}

func (f *fakeEvents) EventHead(_ context.Context, store app.StoreID) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return int64(len(f.events[store])), nil
}

func (f *fakeEvents) EventHeads(_ context.Context, stores []app.StoreID) (map[app.StoreID]int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	heads := map[app.StoreID]int64{}
	for _, store := range stores {
		heads[store] = int64(len(f.events[store]))
	}
	return heads, nil
}

func (f *fakeEvents) Events(_ context.Context, store app.StoreID, _ app.EventFilter, _ bool, after int64,
	limit app.PageLimit,
) ([]app.StoredEvent, bool, error) {
	if f.during != nil {
		f.during(store)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	if store == f.broken {
		return nil, false, errors.New("the events cannot be read")
	}
	rest := f.events[store][after:]
	page := rest[:min(len(rest), limit.Rows)]
	return page, len(page) < len(rest), nil
}

// add adds an event of a number of bytes to a store.
func (f *fakeEvents) add(store app.StoreID, size int) {
	f.mu.Lock()
	f.events[store] = append(f.events[store], app.StoredEvent{
		Event:    app.Event{Type: app.EventOrderCreated, Body: make([]byte, size)},
		Position: int64(len(f.events[store]) + 1),
	})
	dispatched := f.notify
	f.mu.Unlock()
	if dispatched != nil {
		dispatched(store)
	}
}

func newFakeFeed(t *testing.T, every time.Duration) (*fakeEvents, *eventFeed) {
	source := &fakeEvents{events: map[app.StoreID][]app.StoredEvent{}}
	text := func(_ app.StoreID, e app.StoredEvent) string { return string(e.Body) }
	feed := newEventFeed(source, newWork(Config{}), text, func(err error) { t.Error(err) })
	feed.every = every
	return source, feed
}

// A thousand streams of twenty stores read each event of the database once per store.
func TestThousandStreamsShareTheirReads(t *testing.T) {
	t.Parallel()
	const streams, stores, events = 1000, 20, 10
	source, feed := newFakeFeed(t, time.Hour)
	readers := make([]*streamReader, 0, streams)
	for i := range streams {
		r, err := feed.join(t.Context(), app.Principal{StoreID: app.StoreID(fmt.Sprint("sto_", i%stores))}, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !feed.follow(r, feed.mark(r)) {
			t.Fatal("a new stream is not up to date")
		}
		readers = append(readers, r)
	}
	for range events {
		for i := range stores {
			source.add(app.StoreID(fmt.Sprint("sto_", i)), 100)
		}
	}
	for _, r := range readers {
		for want := int64(1); want <= events; {
			m, ok := feed.next(r)
			if !ok {
				<-r.ready
				continue
			}
			feed.wrote(r, m)
			if m.position != want {
				t.Fatalf("event of a stream: got position %d, want %d", m.position, want)
			}
			want++
		}
	}
	source.mu.Lock()
	reads := source.reads
	source.mu.Unlock()
	// A notification during a read causes one more.
	if most := stores * (events + 1); reads > most {
		t.Errorf("reads for %d streams of each store: got %d, want at most %d", streams/stores, reads, most)
	}
	for _, r := range readers {
		feed.leave(r)
	}
	feed.mu.Lock()
	defer feed.mu.Unlock()
	if feed.opened != nil {
		t.Error("the feed listens without streams")
	}
}

// A stream may be 1 MiB behind. A slower one ends and does not delay others.
func TestSlowEventStreamsEnd(t *testing.T) {
	t.Parallel()
	source, feed := newFakeFeed(t, time.Hour)
	join := func() *streamReader {
		t.Helper()
		r, err := feed.join(t.Context(), app.Principal{StoreID: "sto_1"}, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		feed.follow(r, 0)
		return r
	}
	slow, quick := join(), join()
	const size = maxBehind / 4
	for i := range 5 {
		source.add("sto_1", size)
		<-quick.ready
		m, _ := feed.next(quick)
		feed.wrote(quick, m)
		if m.position != int64(i+1) {
			t.Fatalf("event of the quick stream: got %d, want %d", m.position, i+1)
		}
		select {
		case <-slow.late:
			if i < 4 {
				t.Errorf("the slow stream ended at event %d, want it open while it is 1 MiB behind", i+1)
			}
		default:
			if i == 4 {
				t.Error("the slow stream is open although it is more than 1 MiB behind")
			}
		}
	}
	feed.leave(slow)
	feed.leave(quick)
}

// If the events of a store cannot be read, its streams end, and those of other stores stay open.
func TestUnreadableEventsEndTheStreamsOfTheirStore(t *testing.T) {
	t.Parallel()
	source, feed := newFakeFeed(t, time.Hour)
	failures := make(chan error, 1)
	feed.failed = func(err error) { failures <- err }
	join := func(store app.StoreID) *streamReader {
		t.Helper()
		r, err := feed.join(t.Context(), app.Principal{StoreID: store}, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		feed.follow(r, feed.mark(r))
		return r
	}
	own, other := join("sto_1"), join("sto_2")
	defer feed.leave(other)
	source.mu.Lock()
	source.broken = "sto_1"
	source.mu.Unlock()
	source.add("sto_1", 1)
	<-failures
	<-own.of.failed
	source.mu.Lock()
	source.broken = ""
	source.mu.Unlock()
	again := join("sto_1") // before the former stream has left
	defer feed.leave(again)
	feed.leave(own)
	for _, r := range []*streamReader{again, other} {
		source.add(r.of.store, 1)
		select {
		case <-r.ready:
		case <-r.connection.ended:
			t.Fatalf("stream of %s: got its end, want an event", r.of.store)
		}
		if m, ok := feed.next(r); !ok {
			t.Errorf("stream of %s: got %+v, want an event", r.of.store, m)
		}
	}
}

// An event whose notification is lost reaches its streams nevertheless.
func TestEventStreamsFindLostNotices(t *testing.T) {
	t.Parallel()
	source, feed := newFakeFeed(t, 10*time.Millisecond)
	r, err := feed.join(t.Context(), app.Principal{StoreID: "sto_1"}, []app.EventType{app.EventOrderCreated}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer feed.leave(r)
	feed.follow(r, 0)
	source.mu.Lock()
	source.notify = nil
	source.mu.Unlock()
	source.add("sto_1", 1)
	<-r.ready
	if m, ok := feed.next(r); !ok || m.position != 1 {
		t.Errorf("event without a notification: got %+v, want position 1", m)
	}
	if diff := cmp.Diff(int64(1), feed.passed(r)); diff != "" {
		t.Errorf("position (-want +got):\n%s", diff)
	}
}
