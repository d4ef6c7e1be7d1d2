package api

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// missedEvery is the interval of the search for changes whose notification was lost.
const missedEvery = 10 * time.Second

// feed is the source of a hub's messages.
type feed interface {
	// listen calls began once it receives notifications. It returns when the connection breaks or ctx is done.
	listen(ctx context.Context, began func()) error
	// head returns the position of a store's latest message.
	head(ctx context.Context, store app.StoreID) (int64, error)
	// read sends the messages of a store after its position.
	read(ctx context.Context, s *storeReaders) error
	// findMissed finds the changes whose notification was lost. It ignores errors: the next search finds them, unless
	// the connection ends too.
	findMissed(ctx context.Context)
}

// hub sends the messages of a feed to the streams of this process. One database connection listens while there are
// streams. They end with it, so that none misses a change.
type hub struct {
	feed   feed
	limit  int           // of the sizes of the messages that a reader is behind; a slower reader ends
	every  time.Duration // missedEvery
	failed func(error)

	mu     sync.Mutex
	opened *connection // nil = no streams
}

// connection is a listening database connection with its streams.
type connection struct {
	stop    context.CancelFunc
	began   chan struct{}                 // closed when it listens
	ended   chan struct{}                 // closed when it has ended and the hub has forgotten it
	stores  map[app.StoreID]*storeReaders // under the hub's lock
	readers int                           // under the hub's lock
}

// storeReaders are the streams of one store.
type storeReaders struct {
	store    app.StoreID
	website  app.WebsiteID
	wake     chan struct{} // receives when there may be messages to read
	stop     context.CancelFunc
	started  chan struct{}          // closed when the position is known
	failed   chan struct{}          // closed when its messages can no longer be read
	position int64                  // under the hub's lock: the readers that follow have received all messages up to it
	readers  map[*streamReader]bool // under the hub's lock; true = follows, so that it receives messages
}

// streamReader is one stream.
type streamReader struct {
	connection *connection
	of         *storeReaders
	types      []app.EventType // of the messages; none = all
	ready      chan struct{}   // receives when the queue has messages
	late       chan struct{}   // closed when it is too far behind

	// Under the hub's lock.
	queue  []message
	behind int   // size of the messages in the queue and being written
	last   int64 // position up to which it has received everything
}

// message is one entry of a stream.
type message struct {
	position int64 // 0 = the messages of this feed have no position
	kind     app.EventType
	text     string // as the client receives it; "" = omitted
	size     int    // counts against the hub's limit
}

// join returns a reader of the messages of a caller's store after a position, of some types; no types are all. It
// receives nothing before [hub.follow]. join returns UNAVAILABLE if the database cannot be reached.
func (h *hub) join(
	ctx context.Context, caller app.Principal, types []app.EventType, after int64,
) (*streamReader, error) {
	r := &streamReader{types: types, last: after, ready: make(chan struct{}, 1), late: make(chan struct{})}
	h.add(r, caller.StoreID, caller.WebsiteID)
	select {
	case <-r.of.started:
		return r, nil
	case <-r.of.failed:
	case <-r.connection.ended:
	case <-ctx.Done():
	}
	h.leave(r)
	return nil, app.Unavailable(reconnectIn)
}

func (h *hub) add(r *streamReader, store app.StoreID, website app.WebsiteID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.opened == nil {
		ctx, stop := context.WithCancel(context.Background())
		h.opened = &connection{
			stop: stop, began: make(chan struct{}), ended: make(chan struct{}), stores: map[app.StoreID]*storeReaders{},
		}
		go h.run(ctx, h.opened)
	}
	c := h.opened
	c.readers++
	r.connection, r.of = c, c.stores[store]
	if r.of == nil {
		ctx, stop := context.WithCancel(context.Background())
		r.of = &storeReaders{
			store: store, website: website, wake: make(chan struct{}, 1), stop: stop, started: make(chan struct{}),
			failed: make(chan struct{}), readers: map[*streamReader]bool{},
		}
		c.stores[store] = r.of
		go h.runStore(ctx, c, r.of)
	}
	r.of.readers[r] = false
}

// run listens until the connection breaks or ctx ends. While it listens, it repeats the search for missed changes.
func (h *hub) run(ctx context.Context, c *connection) {
	defer close(c.ended)
	defer h.forget(c)
	defer c.stop()
	err := h.feed.listen(ctx, func() {
		close(c.began)
		go repeat(ctx, h.every, h.feed.findMissed)
	})
	if ctx.Err() == nil {
		h.failed(err)
	}
}

// forget makes the next stream open another connection.
func (h *hub) forget(c *connection) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.opened == c {
		h.opened = nil
	}
}

// leave removes a reader. After the last one, the hub stops listening.
func (h *hub) leave(r *streamReader) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := r.connection
	c.readers--
	delete(r.of.readers, r)
	if len(r.of.readers) == 0 {
		r.of.stop()
		c.forget(r.of)
	}
	if c.readers == 0 {
		c.stop()
		if h.opened == c {
			h.opened = nil
		}
	}
}

// forget makes the next stream of a store begin again, under the hub's lock.
func (c *connection) forget(s *storeReaders) {
	if c.stores[s.store] == s {
		delete(c.stores, s.store)
	}
}

// runStore reads the messages of a store whenever it is woken. After an error, the streams of the store end.
func (h *hub) runStore(ctx context.Context, c *connection, s *storeReaders) {
	if err := h.readStore(ctx, c, s); err != nil && ctx.Err() == nil {
		h.failed(err)
		h.mu.Lock()
		c.forget(s)
		h.mu.Unlock()
		close(s.failed)
	}
}

func (h *hub) readStore(ctx context.Context, c *connection, s *storeReaders) error {
	select {
	case <-c.began:
	case <-c.ended:
		return nil
	}
	head, err := h.feed.head(ctx, s.store)
	if err != nil {
		return err
	}
	h.mu.Lock()
	s.position = head
	h.mu.Unlock()
	close(s.started)
	for {
		select {
		case <-s.wake:
		case <-c.ended:
			return nil
		case <-ctx.Done():
			return nil
		}
		if err := h.feed.read(ctx, s); err != nil {
			return err
		}
	}
}

// withStore calls f with the streams of a store, under the hub's lock, if there are any.
func (h *hub) withStore(store app.StoreID, f func(*storeReaders)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.opened != nil && h.opened.stores[store] != nil {
		f(h.opened.stores[store])
	}
}

// stores returns the stores with streams.
func (h *hub) stores() (stores []app.StoreID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.opened == nil {
		return nil
	}
	for store := range h.opened.stores {
		stores = append(stores, store)
	}
	return stores
}

// send sends a message to the readers that follow, under the hub's lock. It does not wait for slow readers.
func (h *hub) send(s *storeReaders, m message) {
	s.position = max(s.position, m.position)
	for r, follows := range s.readers {
		wanted := len(r.types) == 0 || slices.Contains(r.types, m.kind)
		if !follows || !wanted || m.text == "" || m.position != 0 && m.position <= r.last {
			continue
		}
		if r.behind > 0 && r.behind+m.size > h.limit {
			s.readers[r], r.queue = false, nil
			close(r.late)
			continue
		}
		r.queue, r.behind = append(r.queue, m), r.behind+m.size
		notify(r.ready)
	}
}

// mark returns the position up to which the readers that follow have received everything. Later reads of the database
// see all messages up to it.
func (h *hub) mark(r *streamReader) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return r.of.position
}

// follow makes a reader that has received all messages up to a position receive further ones. It returns false if the
// reader must read the database again, because later messages were already sent to other readers.
func (h *hub) follow(r *streamReader, position int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.last = position
	r.of.readers[r] = r.of.position <= position
	return r.of.readers[r]
}

// next returns the next message of a reader; false if its queue is empty.
func (h *hub) next(r *streamReader) (message, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(r.queue) == 0 {
		return message{}, false
	}
	m := r.queue[0]
	r.queue = r.queue[1:]
	if len(r.queue) > 0 {
		notify(r.ready)
	}
	return m, true
}

// wrote records that a message was written to the client.
func (h *hub) wrote(r *streamReader, m message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.behind -= m.size
	r.last = max(r.last, m.position)
}

// passed returns the position up to which a reader has received everything.
func (h *hub) passed(r *streamReader) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.of.readers[r] && len(r.queue) == 0 {
		r.last = max(r.last, r.of.position)
	}
	return r.last
}

// notify wakes the receiver of a channel whose buffer has one element.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// repeat calls f at each interval until ctx ends.
func repeat(ctx context.Context, every time.Duration, f func(context.Context)) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			f(ctx)
		case <-ctx.Done():
			return
		}
	}
}
