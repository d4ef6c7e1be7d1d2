package api

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// hostile returns a caller of one of the stores of a hostile website.
func hostile(store int) app.Principal {
	return app.Principal{WebsiteID: "web_hostile", StoreID: app.StoreID(fmt.Sprint("sto_hostile_", store))}
}

// following opens a stream of events that follows.
func following(t *testing.T, feed *eventFeed, caller app.Principal) *streamReader {
	t.Helper()
	r, err := feed.join(t.Context(), caller, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	feed.follow(r, feed.mark(r))
	return r
}

// Streams of a website whose reads do not progress use few connections, also those that continue after an old event.
// The requests of the website and the streams of another one are served meanwhile.
func TestReadsOfStreamsOfAHostileNeighbour(t *testing.T) {
	t.Parallel()
	const stores, behind = 20, 20
	var reading atomic.Int32
	release := make(chan struct{})
	source, feed := newFakeFeed(t, time.Hour)
	source.during = func(store app.StoreID) {
		if store != "sto_other" {
			reading.Add(1)
			<-release
			reading.Add(-1)
		}
	}
	feed.work.wait = testTimeout
	s := &Server{eventFeed: feed, cursors: newCursors(persistencetest.Keyring())}
	var readers []*streamReader
	for i := range stores {
		readers = append(readers, following(t, feed, hostile(i)))
		source.add(hostile(i).StoreID, 100)
	}
	results := make(chan error)
	for i := range behind {
		r, err := feed.join(t.Context(), hostile(i), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := s.sendHistory(context.WithoutCancel(t.Context()), r, time.Now(), func(string) error { return nil })
			results <- err
		}()
	}
	w := &world{T: t, timeout: testTimeout}
	w.until("reads", func() bool {
		return reading.Load() == maxReads && feed.work.users("reads", "web_hostile") == stores+behind
	})
	request := &places{work: feed.work, waiters: &feed.work.websites, owner: "web_hostile"}
	defer request.leave()
	if err := request.begin(t.Context(), gateLimit{gate{"requests", "web_hostile"}, maxWork}); err != nil {
		t.Errorf("request of the website: got error %v, want a place", err)
	}
	other := following(t, feed, app.Principal{WebsiteID: "web_other", StoreID: "sto_other"})
	source.add("sto_other", 100)
	<-other.ready
	if n := reading.Load(); n != maxReads {
		t.Errorf("concurrent reads of the website: got %d, want %d", n, maxReads)
	}
	close(release)
	for range behind {
		if err := <-results; err != nil {
			t.Errorf("read after the wait: got error %v, want none", err)
		}
	}
	for _, r := range readers {
		<-r.ready
	}
}

// While the requests of a website do not progress, its streams read nothing and stay open. Then they continue.
func TestReadsOfStreamsWaitForRequests(t *testing.T) {
	t.Parallel()
	source, feed := newFakeFeed(t, time.Hour)
	feed.work.wait = time.Millisecond
	s := &Server{eventFeed: feed, cursors: newCursors(persistencetest.Keyring())}
	r, late := following(t, feed, hostile(1)), following(t, feed, hostile(1))
	requests := &places{work: feed.work, waiters: &feed.work.websites, owner: "web_hostile"}
	for range maxWork {
		if err := requests.begin(t.Context(), gateLimit{gate{"requests", "web_hostile"}, maxWork}); err != nil {
			t.Fatal(err)
		}
	}
	source.add(hostile(1).StoreID, 100)
	for range 3 {
		follows, err := s.sendHistory(t.Context(), late, time.Now(), func(string) error { return nil })
		if follows || err != nil {
			t.Errorf("read beside requests: got %t and error %v, want another attempt", follows, err)
		}
	}
	if source.reads != 0 {
		t.Errorf("got %d reads beside requests that use all places, want 0", source.reads)
	}
	requests.leave()
	<-r.ready
	if m, ok := feed.next(r); !ok || m.position != 1 {
		t.Errorf("event after the wait: got %+v, want position 1", m)
	}
}
