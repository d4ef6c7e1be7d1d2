package api

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
)

var streamOrders = handle("streamOrders", (*Server).watchOrders)

const (
	maxWatchers     = 1000            // concurrent streams of this process
	watcherBacklog  = 64              // notices that a stream may be behind; a slower stream ends
	retryWatchingIn = 2 * time.Second // sent to clients as the retry field

	// missedEvery is the interval of the search for changes whose notice was lost.
	missedEvery = 10 * time.Second
	// missedSince is the period of that search. It exceeds the sum of missedEvery, the duration of a request
	// and the difference between clocks. A new stream may send a change that precedes it.
	missedSince = 30 * time.Second
)

// orderNotices is the part of persistence.DB that an orderFeed uses.
type orderNotices interface {
	ListenOrders(ctx context.Context, began func(), heard func(app.OrderNotice)) error
	ChangedOrders(ctx context.Context, stores []app.StoreID, since time.Time) ([]app.OrderNotice, error)
}

// orderFeed distributes the notifications of order changes from one database connection to all streams of
// this process. It listens only while there are streams.
type orderFeed struct {
	notices orderNotices
	now     func() time.Time
	every   time.Duration // missedEvery
	failed  func(error)
	mu      sync.Mutex
	opened  *orderListener // nil = no streams
}

// orderListener has the streams of one listening connection. They end with it, so that none misses a change.
type orderListener struct {
	*listener
	watchers map[*watcher]bool          // under the feed's lock
	sent     map[app.OrderID]sentNotice // under the feed's lock: of all stores, kept for 2 × missedSince
}

// sentNotice is the latest version of an order that was sent to the watchers.
type sentNotice struct {
	version int64
	status  app.OrderStatus
	// a reminder was sent
	reminded bool
	at       time.Time
}

// watcher is one stream.
type watcher struct {
	of      *orderListener
	store   app.StoreID
	notices chan app.OrderNotice
	late    chan struct{} // closed when it is too far behind
}

func newOrderFeed(notices orderNotices, now func() time.Time, failed func(error)) *orderFeed {
	return &orderFeed{notices: notices, now: now, every: missedEvery, failed: failed}
}

// join returns a watcher that receives all changes of a store committed from now on. It returns UNAVAILABLE if there
// are too many watchers, or the database cannot be reached.
func (f *orderFeed) join(ctx context.Context, store app.StoreID) (*watcher, error) {
	w := &watcher{store: store, notices: make(chan app.OrderNotice, watcherBacklog), late: make(chan struct{})}
	if err := f.add(w); err != nil {
		return nil, err
	}
	select {
	case <-w.of.began:
		return w, nil
	case <-w.of.ended:
	case <-ctx.Done():
	}
	f.leave(w)
	return nil, app.Unavailable(retryWatchingIn)
}

func (f *orderFeed) add(w *watcher) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.opened == nil {
		f.opened = f.open()
	}
	if len(f.opened.watchers) >= maxWatchers {
		return app.Unavailable(heartbeat)
	}
	w.of = f.opened
	w.of.watchers[w] = true
	return nil
}

// open starts to listen.
func (f *orderFeed) open() *orderListener {
	connection, ctx := newListener()
	l := &orderListener{
		listener: connection, watchers: map[*watcher]bool{}, sent: map[app.OrderID]sentNotice{},
	}
	go l.run(ctx, func(ctx context.Context, began func()) error {
		return f.notices.ListenOrders(ctx, began, func(n app.OrderNotice) { f.send(l, n) })
	}, f.every, func(ctx context.Context) { f.findMissed(ctx, l) }, f.failed, func() { f.forget(l) })
	return l
}

// forget makes the next stream open another connection.
func (f *orderFeed) forget(l *orderListener) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.opened == l {
		f.opened = nil
	}
}

// leave removes a watcher. After the last one, the feed stops listening.
func (f *orderFeed) leave(w *watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(w.of.watchers, w)
	if len(w.of.watchers) == 0 {
		w.of.stop()
		if f.opened == w.of {
			f.opened = nil
		}
	}
}

// findMissed sends recent changes whose notification may be lost.
func (f *orderFeed) findMissed(ctx context.Context, l *orderListener) {
	changed, err := f.notices.ChangedOrders(ctx, f.watched(l), f.now().Add(-missedSince))
	if err != nil {
		return // the next search finds them, unless the listening connection ends too
	}
	for _, n := range changed {
		f.send(l, n)
	}
}

// watched returns the stores of the watchers, and removes old entries of sent.
func (f *orderFeed) watched(l *orderListener) []app.StoreID {
	f.mu.Lock()
	defer f.mu.Unlock()
	long := f.now().Add(-2 * missedSince)
	maps.DeleteFunc(l.sent, func(_ app.OrderID, sent sentNotice) bool { return sent.at.Before(long) })
	stores := map[app.StoreID]bool{}
	for w := range l.watchers {
		stores[w.store] = true
	}
	return slices.Collect(maps.Keys(stores))
}

// send sends a notice to the watchers of its store, unless they have received this or a later version of the order. A
// change of deliveries does not change the version: it is always sent, with the latest version. A reminder is sent
// once, unless the order has changed since. send does not wait for slow watchers.
func (f *orderFeed) send(l *orderListener, notice app.OrderNotice) {
	f.mu.Lock()
	defer f.mu.Unlock()
	sent, ok := l.sent[notice.ID]
	switch {
	case ok && notice.Deliveries && notice.Version < sent.version:
		notice.Version, notice.Status = sent.version, sent.status
	case notice.Reminder:
		if ok && (sent.reminded || sent.version > notice.Version) {
			return
		}
	case ok && !notice.Deliveries && notice.Version <= sent.version:
		return
	}
	l.sent[notice.ID] = sentNotice{notice.Version, notice.Status, sent.reminded || notice.Reminder, f.now()}
	for w := range l.watchers {
		if w.store != notice.StoreID {
			continue
		}
		select {
		case w.notices <- notice:
		default:
			delete(l.watchers, w)
			close(w.late)
		}
	}
}

// eventStream writes a response of server-sent events and returns at its end.
type eventStream func(x *exchange)

func (e eventStream) envelop() any { return e }

// writeEvent sends a text to a client, which has s.patience to read it. Between the texts of a stream there is no
// deadline: HTTP/2 resets a stream whose deadline has passed, also if nothing is being written.
func (s *Server) writeEvent(x *exchange, control *http.ResponseController, text string) error {
	_ = control.SetWriteDeadline(time.Now().Add(s.patience)) // not supported by test recorders
	if _, err := io.WriteString(x, text); err != nil {
		return err
	}
	if err := control.Flush(); err != nil {
		return err
	}
	_ = control.SetWriteDeadline(time.Time{})
	return nil
}

type watchOrdersIn struct{}

// orderEvent is the data of an event of the stream.
type orderEvent struct {
	ID      app.OrderID     `json:"id"`
	Number  string          `json:"orderId"`
	Status  app.OrderStatus `json:"status"`
	Version int64           `json:"version"`
	// A delivery of one of the order's events has changed.
	Deliveries bool `json:"deliveries,omitempty"`
	// The order was not accepted in time for a reminder.
	Reminder bool `json:"reminder,omitempty"`
}

// watchOrders streams the changes of the store's orders and of the deliveries of their events. The versions of an
// order arrive in ascending order; versions that change again immediately may be omitted. A stream does not miss an
// order that changes after its first line. It ends when the credential is no longer valid, when the client is too
// slow, or on errors. Then the client reads the orders and opens a new stream.
func (s *Server) watchOrders(ctx context.Context, c *call, _ watchOrdersIn) (eventStream, error) {
	if err := s.openStream(ctx, c); err != nil {
		return nil, err
	}
	w, err := s.watched.join(ctx, c.principal.StoreID)
	if err != nil {
		s.closeStream(c)
		return nil, err
	}
	return func(x *exchange) {
		defer s.closeStream(c)
		defer s.watched.leave(w)
		x.Header().Set("Content-Type", "text/event-stream")
		x.Header().Set("X-Accel-Buffering", "no") // for proxies
		control := http.NewResponseController(x)
		_ = control.SetReadDeadline(time.Time{}) // removes that of the request; not supported by test recorders
		x.WriteHeader(http.StatusOK)
		beat := time.NewTicker(s.heartbeat)
		defer beat.Stop()
		for text := fmt.Sprintf("retry: %d\n\n", retryWatchingIn.Milliseconds()); ; {
			if s.writeEvent(x, control, text) != nil {
				return
			}
			select {
			case n := <-w.notices:
				data, err := encode(orderEvent{n.ID, n.Number, n.Status, n.Version, n.Deliveries, n.Reminder})
				if err != nil {
					return
				}
				text = "event: order\ndata: " + string(data) + "\n\n"
			case <-beat.C:
				if s.mayStill(x.open, c) != nil {
					return
				}
				text = ": still here\n\n"
			case <-w.late:
				return
			case <-w.of.ended:
				return
			case <-x.open.Done():
				return
			case <-s.stopping:
				return
			}
		}
	}, nil
}
