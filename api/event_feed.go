package api

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
)

const (
	// maxBehind is the number of bytes that a stream of events may be behind. A slower stream ends.
	maxBehind = 1 << 20
	eventPage = 100 // events per read
)

// eventSource is the part of persistence.DB that an eventFeed uses.
type eventSource interface {
	ListenEvents(ctx context.Context, began func(), heard func(app.StoreID)) error
	EventHead(ctx context.Context, store app.StoreID) (int64, error)
	EventHeads(ctx context.Context, stores []app.StoreID) (map[app.StoreID]int64, error)
	Events(ctx context.Context, store app.StoreID, filter app.EventFilter, up bool, after int64,
		limit int) ([]app.StoredEvent, error)
}

// eventFeed distributes dispatched events to the streams of this process. It reads each event of a store once for all
// streams that are up to date; a stream that continues after an old event reads the database until it is up to date.
// One database connection listens while there are streams.
type eventFeed struct {
	source eventSource
	text   func(app.StoreID, app.StoredEvent) string // of an event in a stream; "" = omitted
	every  time.Duration                             // missedEvery
	failed func(error)

	mu     sync.Mutex
	opened *eventListener // nil = no streams
}

// eventListener has the streams of one listening connection.
type eventListener struct {
	*listener
	stores  map[app.StoreID]*storeEvents // under the feed's lock
	readers int                          // under the feed's lock
}

// storeEvents is the common part of the streams of a store.
type storeEvents struct {
	id       app.StoreID
	wake     chan struct{} // receives when there may be new events
	stop     context.CancelFunc
	started  chan struct{}         // closed when the position is known
	position int64                 // under the feed's lock: the readers have received all events up to it
	readers  map[*eventReader]bool // under the feed's lock; true = up to date, so that it receives events
}

// eventReader is one stream.
type eventReader struct {
	listener *eventListener
	of       *storeEvents
	types    []app.EventType // none = all
	ready    chan struct{}   // receives when the queue has events
	late     chan struct{}   // closed when it is too far behind

	// Under the feed's lock.
	queue  []eventMessage
	behind int // bytes in the queue and being written
}

// eventMessage is the text of an event in a stream.
type eventMessage struct {
	position int64
	text     string
}

func newEventFeed(
	source eventSource, text func(app.StoreID, app.StoredEvent) string, failed func(error),
) *eventFeed {
	return &eventFeed{source: source, text: text, every: missedEvery, failed: failed}
}

// join returns a reader of a store's events of some types; none are all. It is not up to date, see
// [eventFeed.follow]. join returns UNAVAILABLE if there are too many readers, or the database cannot be reached.
func (f *eventFeed) join(ctx context.Context, store app.StoreID, types []app.EventType) (*eventReader, error) {
	r := &eventReader{types: types, ready: make(chan struct{}, 1), late: make(chan struct{})}
	if err := f.add(r, store); err != nil {
		return nil, err
	}
	select {
	case <-r.of.started:
		return r, nil
	case <-r.listener.ended:
	case <-ctx.Done():
	}
	f.leave(r)
	return nil, app.Unavailable(retryWatchingIn)
}

func (f *eventFeed) add(r *eventReader, store app.StoreID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.opened == nil {
		f.opened = f.open()
	}
	l := f.opened
	if l.readers >= maxWatchers {
		return app.Unavailable(heartbeat)
	}
	l.readers++
	r.listener, r.of = l, l.stores[store]
	if r.of == nil {
		ctx, stop := context.WithCancel(context.Background())
		r.of = &storeEvents{
			id: store, wake: make(chan struct{}, 1), stop: stop, started: make(chan struct{}),
			readers: map[*eventReader]bool{},
		}
		l.stores[store] = r.of
		go f.run(ctx, l, r.of)
	}
	r.of.readers[r] = false
	return nil
}

// open starts to listen.
func (f *eventFeed) open() *eventListener {
	connection, ctx := newListener()
	l := &eventListener{listener: connection, stores: map[app.StoreID]*storeEvents{}}
	go l.run(ctx, func(ctx context.Context, began func()) error {
		return f.source.ListenEvents(ctx, began, func(store app.StoreID) { f.wake(l, store) })
	}, f.every, func(ctx context.Context) { f.findMissed(ctx, l) }, f.failed, func() { f.forget(l) })
	return l
}

// forget makes the next stream open another connection.
func (f *eventFeed) forget(l *eventListener) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.opened == l {
		f.opened = nil
	}
}

// leave removes a reader. After the last one, the feed stops listening.
func (f *eventFeed) leave(r *eventReader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r.listener.readers--
	delete(r.of.readers, r)
	if len(r.of.readers) == 0 {
		r.of.stop()
		delete(r.listener.stores, r.of.id)
	}
	if r.listener.readers == 0 {
		r.listener.stop()
		if f.opened == r.listener {
			f.opened = nil
		}
	}
}

// wake makes the feed look for new events of a store.
func (f *eventFeed) wake(l *eventListener, store app.StoreID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := l.stores[store]; s != nil {
		notify(s.wake)
	}
}

// notify wakes the receiver of a channel whose buffer has one element.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// findMissed looks for events whose notification may be lost.
func (f *eventFeed) findMissed(ctx context.Context, l *eventListener) {
	heads, err := f.source.EventHeads(ctx, f.watched(l))
	if err != nil {
		return // the next search finds them, unless the listening connection ends too
	}
	for store := range heads {
		f.mu.Lock()
		if s := l.stores[store]; s != nil && s.position < heads[store] {
			notify(s.wake)
		}
		f.mu.Unlock()
	}
}

// watched returns the stores of the readers.
func (f *eventFeed) watched(l *eventListener) (stores []app.StoreID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for store := range l.stores {
		stores = append(stores, store)
	}
	return stores
}

// run reads the events of a store for its readers. After an error, all streams end.
func (f *eventFeed) run(ctx context.Context, l *eventListener, s *storeEvents) {
	fail := func(err error) {
		if err != nil && ctx.Err() == nil {
			f.failed(err)
			l.stop()
		}
	}
	select {
	case <-l.began:
	case <-l.ended:
		return
	}
	head, err := f.source.EventHead(ctx, s.id)
	if err != nil {
		fail(err)
		return
	}
	f.mu.Lock()
	s.position = head
	f.mu.Unlock()
	close(s.started)
	for {
		select {
		case <-s.wake:
		case <-l.ended:
			return
		case <-ctx.Done():
			return
		}
		if err := f.read(ctx, s); err != nil {
			fail(err)
			return
		}
	}
}

// read sends the new events of a store to its readers.
func (f *eventFeed) read(ctx context.Context, s *storeEvents) error {
	for more := true; more; {
		f.mu.Lock()
		after := s.position
		f.mu.Unlock()
		page, err := f.source.Events(ctx, s.id, app.EventFilter{}, true, after, eventPage)
		if err != nil {
			return err
		}
		f.send(s, page)
		more = len(page) == eventPage
	}
	return nil
}

// send sends events to the readers that are up to date. It does not wait for slow readers.
func (f *eventFeed) send(s *storeEvents, page []app.StoredEvent) {
	texts := make([]string, len(page))
	for i, e := range page {
		texts[i] = f.text(s.id, e)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, e := range page {
		s.position = e.Position
		for r, current := range s.readers {
			if !current || texts[i] == "" || !r.wants(e.Type) {
				continue
			}
			if r.behind > 0 && r.behind+len(texts[i]) > maxBehind {
				s.readers[r], r.queue = false, nil
				close(r.late)
				continue
			}
			r.queue, r.behind = append(r.queue, eventMessage{e.Position, texts[i]}), r.behind+len(texts[i])
			notify(r.ready)
		}
	}
}

func (r *eventReader) wants(t app.EventType) bool {
	return len(r.types) == 0 || slices.Contains(r.types, t)
}

// mark returns the position up to which the readers that are up to date have received everything. Later reads of the
// database see all events up to it.
func (f *eventFeed) mark(r *eventReader) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return r.of.position
}

// follow makes a reader that has read all events up to a position receive further ones. It returns false if the reader
// must read the database again, because later events were already sent to other readers.
func (f *eventFeed) follow(r *eventReader, position int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	current := r.of.position <= position
	r.of.readers[r] = current
	return current
}

// next returns the next message of a reader; false if there is none.
func (f *eventFeed) next(r *eventReader) (eventMessage, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(r.queue) == 0 {
		return eventMessage{}, false
	}
	m := r.queue[0]
	r.queue = r.queue[1:]
	if len(r.queue) > 0 {
		notify(r.ready)
	}
	return m, true
}

// wrote records that a message was written to the client.
func (f *eventFeed) wrote(r *eventReader, m eventMessage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r.behind -= len(m.text)
}

// passed returns the position up to which a reader has received everything, given the position of its last event.
func (f *eventFeed) passed(r *eventReader, last int64) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !r.of.readers[r] || len(r.queue) > 0 {
		return last
	}
	return max(last, r.of.position)
}
