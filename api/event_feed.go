package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

// maxBehind is the number of bytes that a stream of events may be behind. A slower stream ends.
const maxBehind = 1 << 20

// eventPage limits a read. A stream that continues after an old event holds the page while its client reads it.
var eventPage = app.PageLimit{Rows: 100, Bytes: 256 << 10}

// eventSource is the part of persistence.DB that an eventFeed uses.
type eventSource interface {
	ListenEvents(ctx context.Context, began func(), dispatched func(app.StoreID)) error
	EventHead(ctx context.Context, store app.StoreID) (int64, error)
	EventHeads(ctx context.Context, stores []app.StoreID) (map[app.StoreID]int64, error)
	Events(ctx context.Context, store app.StoreID, filter app.EventFilter, up bool, after int64,
		limit app.PageLimit) (events []app.StoredEvent, more bool, err error)
}

// eventFeed sends dispatched events to the streams of this process. It reads each event of a store once for all streams
// that are up to date; a stream that continues after an old event reads the database until it is up to date.
type eventFeed struct {
	*hub
	source eventSource
	work   *work
	text   func(app.StoreID, app.StoredEvent) string // of an event in a stream; "" = omitted
}

func newEventFeed(
	source eventSource, work *work, text func(app.StoreID, app.StoredEvent) string, failed func(error),
) *eventFeed {
	f := &eventFeed{source: source, work: work, text: text}
	f.hub = &hub{feed: f, limit: maxBehind, every: missedEvery, failed: failed}
	return f
}

func (f *eventFeed) listen(ctx context.Context, began func()) error {
	return f.source.ListenEvents(ctx, began, func(store app.StoreID) {
		f.withStore(store, func(s *storeReaders) { notify(s.wake) })
	})
}

func (f *eventFeed) head(ctx context.Context, store app.StoreID) (int64, error) {
	return f.source.EventHead(ctx, store)
}

func (f *eventFeed) read(ctx context.Context, s *storeReaders) error {
	for more := true; more; {
		f.mu.Lock()
		after := s.position
		f.mu.Unlock()
		page, err := f.page(ctx, s, nil, after)
		if err != nil || ctx.Err() != nil {
			return err
		}
		if page == nil {
			continue
		}
		messages := make([]message, len(page.events))
		for i, e := range page.events {
			text := f.text(s.store, e)
			messages[i] = message{position: e.Position, kind: e.Type, text: text, size: len(text)}
		}
		f.mu.Lock()
		for _, m := range messages {
			f.send(s, m)
		}
		f.mu.Unlock()
		more = page.more
	}
	return nil
}

// storedEvents is a page of stored events.
type storedEvents struct {
	events []app.StoredEvent
	more   bool // later ones were stored when it was read
}

// page reads stored events of some types after a position; no types are all. It returns nil if the requests of the
// website take too long.
func (f *eventFeed) page(
	ctx context.Context, s *storeReaders, types []app.EventType, after int64,
) (*storedEvents, error) {
	places, ok := f.work.enterRead(ctx, s.website)
	if !ok {
		return nil, nil
	}
	defer places.leave()
	events, more, err := f.source.Events(ctx, s.store, app.EventFilter{Types: types}, true, after, eventPage)
	return &storedEvents{events, more}, err
}

func (f *eventFeed) findMissed(ctx context.Context) {
	heads, err := f.source.EventHeads(ctx, f.stores())
	if err != nil {
		return
	}
	for store, head := range heads {
		f.withStore(store, func(s *storeReaders) {
			if s.position < head {
				notify(s.wake)
			}
		})
	}
}
