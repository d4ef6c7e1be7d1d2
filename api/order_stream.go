package api

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
)

const (
	maxWatchers      = 1000 // streams of this process at once
	maxWatchersEach  = 10   // of one session or API key
	watcherBacklog   = 64   // notices that a stream may be behind; one that is further ends
	heartbeat        = 15 * time.Second
	streamPatience   = 10 * time.Second // for a client to take what is sent
	retryWatchingIn  = 2 * time.Second  // what clients are told
	streamRecheckFor = 5 * time.Second  // to find out whether the caller may still listen
)

// orderFeed hands what one connection to the database hears of orders to all streams of this
// process. It listens only as long as there are streams.
type orderFeed struct {
	listen func(ctx context.Context, began func(), heard func(app.OrderNotice)) error
	failed func(error)
	mu     sync.Mutex
	ear    *ear // nil = nobody listens
}

// ear is one connection's time. A stream that outlived it might miss something, so none does.
type ear struct {
	watchers map[*watcher]bool // under the feed's lock
	stop     context.CancelFunc
	began    chan struct{} // closed once everything is heard
	ended    chan struct{} // closed when nothing more is
}

// watcher is one stream.
type watcher struct {
	ear     *ear
	store   app.StoreID
	who     string // the session or the API key
	notices chan app.OrderNotice
	late    chan struct{} // closed when it is too far behind
}

func newOrderFeed(listen func(ctx context.Context, began func(), heard func(app.OrderNotice)) error, failed func(error)) *orderFeed {
	return &orderFeed{listen: listen, failed: failed}
}

// join makes a watcher that hears of everything that is committed from now on. It returns
// LIMIT_REACHED or UNAVAILABLE.
func (f *orderFeed) join(ctx context.Context, p app.Principal) (*watcher, error) {
	w := &watcher{
		store: p.StoreID, who: cmp.Or(string(p.APIKeyID), string(p.SessionID)),
		notices: make(chan app.OrderNotice, watcherBacklog), late: make(chan struct{}),
	}
	if err := f.add(w); err != nil {
		return nil, err
	}
	select {
	case <-w.ear.began:
		return w, nil
	case <-w.ear.ended:
	case <-ctx.Done():
	}
	f.leave(w)
	return nil, app.Unavailable(retryWatchingIn)
}

func (f *orderFeed) add(w *watcher) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ear == nil {
		f.ear = f.open()
	}
	same := 0
	for other := range f.ear.watchers {
		if other.who == w.who {
			same++
		}
	}
	switch {
	case same >= maxWatchersEach:
		return app.Errorf(app.CodeLimitReached, "there are %d streams of this login or API key already", same)
	case len(f.ear.watchers) >= maxWatchers:
		return app.Unavailable(heartbeat)
	}
	w.ear = f.ear
	w.ear.watchers[w] = true
	return nil
}

// open begins to listen.
func (f *orderFeed) open() *ear {
	ctx, stop := context.WithCancel(context.Background())
	e := &ear{watchers: map[*watcher]bool{}, stop: stop, began: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer stop()
		err := f.listen(ctx, func() { close(e.began) }, func(n app.OrderNotice) { f.tell(e, n) })
		if ctx.Err() == nil {
			f.failed(err)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.ear == e {
			f.ear = nil
		}
		close(e.ended)
	}()
	return e
}

// leave ends a watcher; the last one ends the listening.
func (f *orderFeed) leave(w *watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(w.ear.watchers, w)
	if len(w.ear.watchers) == 0 {
		w.ear.stop()
		if f.ear == w.ear {
			f.ear = nil
		}
	}
}

// tell hands a notice to the watchers of its store. Nobody waits for a slow one.
func (f *orderFeed) tell(e *ear, notice app.OrderNotice) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range e.watchers {
		if w.store != notice.StoreID {
			continue
		}
		select {
		case w.notices <- notice:
		default:
			delete(e.watchers, w)
			close(w.late)
		}
	}
}

// eventStream is an answer of server-sent events. It writes until it ends.
type eventStream func(x *exchange)

func (e eventStream) envelop() any { return e }

type watchOrdersIn struct{}

// orderEvent is the data of an event of the stream.
type orderEvent struct {
	ID      app.OrderID     `json:"id"`
	Number  string          `json:"orderId"`
	Status  app.OrderStatus `json:"status"`
	Version int64           `json:"version"`
}

// watchOrders streams the changes of the store's orders. A stream has missed nothing since
// its first line as long as it goes on; it ends when the caller may no longer listen, is too
// slow or something breaks, and then it is for the client to read the orders and begin anew.
func (s *Server) watchOrders(ctx context.Context, c *call, _ watchOrdersIn) (eventStream, error) {
	w, err := s.watched.join(ctx, c.principal)
	if err != nil {
		return nil, err
	}
	return func(x *exchange) {
		defer s.watched.leave(w)
		x.Header().Set("Content-Type", "text/event-stream")
		x.Header().Set("X-Accel-Buffering", "no") // for proxies
		control := http.NewResponseController(x)
		_ = control.SetReadDeadline(time.Time{}) // was for the request; a recorder in a test has none
		x.WriteHeader(http.StatusOK)
		beat := time.NewTicker(s.heartbeat)
		defer beat.Stop()
		for text := fmt.Sprintf("retry: %d\n\n", retryWatchingIn.Milliseconds()); ; {
			_ = control.SetWriteDeadline(time.Now().Add(streamPatience))
			if _, err := io.WriteString(x, text); err != nil || control.Flush() != nil {
				return
			}
			select {
			case n := <-w.notices:
				data, err := encode(orderEvent{n.ID, n.Number, n.Status, n.Version})
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
			case <-w.ear.ended:
				return
			case <-x.open.Done():
				return
			case <-s.stopping:
				return
			}
		}
	}, nil
}

// mayStill checks a credential once more: it may have expired, or its session ended.
func (s *Server) mayStill(ctx context.Context, c *call) error {
	ctx, cancel := context.WithTimeout(ctx, streamRecheckFor)
	defer cancel()
	c.now = s.now()
	if err := s.authenticate(ctx, c); err != nil {
		return err
	}
	return s.authorize(ctx, c)
}
