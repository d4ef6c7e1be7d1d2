package api

import (
	"context"
	"maps"
	"time"

	"github.com/comanda-dev/comanda/app"
)

const (
	maxNoticesBehind = 64 // notices that a stream of orders may be behind; a slower stream ends

	// missedSince is the period of the search for missed changes. It exceeds the sum of missedEvery, the duration of a
	// request and the difference between clocks. A new stream may send a change that precedes it.
	missedSince = 30 * time.Second
)

// orderSource is the part of persistence.DB that an orderFeed uses.
type orderSource interface {
	ListenOrders(ctx context.Context, began func(), changed func(app.OrderNotice)) error
	ChangedOrders(ctx context.Context, stores []app.StoreID, since time.Time) ([]app.OrderNotice, error)
}

// orderFeed sends changes of orders to the streams of this process. A notification has the whole change, so that the
// feed reads nothing.
type orderFeed struct {
	*hub
	source orderSource
	now    func() time.Time
	sent   map[app.OrderID]sentNotice // under the hub's lock: of all stores, kept for 2 × missedSince
}

// sentNotice is the latest version of an order that was sent to the streams.
type sentNotice struct {
	version   int64
	updatedAt app.Time
	items     bool // the change at updatedAt was reported as one of items
	status    app.OrderStatus
	reminded  bool // a reminder was sent
	early     bool // the version was sent with a change of deliveries or a reminder, and its own notice not yet
	at        time.Time
}

func newOrderFeed(source orderSource, now func() time.Time, failed func(error)) *orderFeed {
	f := &orderFeed{source: source, now: now, sent: map[app.OrderID]sentNotice{}}
	f.hub = &hub{feed: f, limit: maxNoticesBehind, every: missedEvery, failed: failed}
	return f
}

// watch returns a reader that receives all changes of the caller's store committed from now on. It returns the errors
// of [hub.join].
func (f *orderFeed) watch(ctx context.Context, caller app.Principal) (*streamReader, error) {
	r, err := f.join(ctx, caller, nil, 0)
	if err == nil {
		f.follow(r, 0)
	}
	return r, err
}

func (f *orderFeed) listen(ctx context.Context, began func()) error {
	f.mu.Lock()
	clear(f.sent)
	f.mu.Unlock()
	return f.source.ListenOrders(ctx, began, f.changed)
}

// head and read do nothing: streams of orders have no positions. A new one continues with the next change.
func (f *orderFeed) head(context.Context, app.StoreID) (int64, error) { return 0, nil }
func (f *orderFeed) read(context.Context, *storeReaders) error        { return nil }

// findMissed sends recent changes again, and removes old entries of sent.
func (f *orderFeed) findMissed(ctx context.Context) {
	f.mu.Lock()
	old := f.now().Add(-2 * missedSince)
	maps.DeleteFunc(f.sent, func(_ app.OrderID, sent sentNotice) bool { return sent.at.Before(old) })
	f.mu.Unlock()
	changed, err := f.source.ChangedOrders(ctx, f.stores(), f.now().Add(-missedSince))
	if err != nil {
		return
	}
	for _, n := range changed {
		f.changed(n)
	}
}

// changed sends a notice to the streams of its store, unless they have received this or a later version of the order. A
// tick of an item or a printed slip does not change the version: it is sent if updatedAt is later. A change of
// deliveries is always sent, with the latest version; it can precede the notice of that version, and of earlier ones,
// which are not sent then. A reminder is sent once, unless the order has changed since.
func (f *orderFeed) changed(notice app.OrderNotice) {
	f.withStore(notice.StoreID, func(s *storeReaders) {
		sent, ok := f.sent[notice.ID]
		// The search for missed changes can find a tick before its notification, without knowing that it is one.
		unmarked := notice.Items && !sent.items &&
			notice.Version == sent.version && notice.UpdatedAt == sent.updatedAt
		switch {
		case ok && notice.Deliveries && notice.Version < sent.version:
			notice.Version, notice.Status = sent.version, sent.status
		case notice.Reminder:
			if ok && (sent.reminded || sent.version > notice.Version) {
				return
			}
		case !ok || notice.Deliveries:
		case notice.Version < sent.version:
			return
		case notice.Version > sent.version || sent.early:
		case !notice.UpdatedAt.After(sent.updatedAt.Time) && !unmarked:
			return
		default:
			notice.Items = true
		}
		f.sent[notice.ID] = sentNotice{
			version: notice.Version, updatedAt: notice.UpdatedAt.OrLater(sent.updatedAt), status: notice.Status,
			items:    notice.Items || sent.items && !notice.UpdatedAt.After(sent.updatedAt.Time),
			reminded: sent.reminded || notice.Reminder, at: f.now(),
			early: (notice.Deliveries || notice.Reminder) && (sent.early || notice.Version > sent.version),
		}
		f.send(s, message{text: orderText(notice), size: 1})
	})
}

// orderEvent is the data of an event of the stream.
type orderEvent struct {
	ID      app.OrderID     `json:"id"`
	Number  string          `json:"orderId"`
	Status  app.OrderStatus `json:"status"`
	Version int64           `json:"version"`
	// A delivery of one of the order's events has changed.
	Deliveries bool `json:"deliveries,omitempty"`
	// An item of the order was ticked or is no longer, or its slip was printed. The version is the same.
	Items bool `json:"items,omitempty"`
	// The order was not accepted in time for a reminder.
	Reminder bool `json:"reminder,omitempty"`
}

// orderText returns the text of a notice in a stream.
func orderText(n app.OrderNotice) string {
	data, err := encode(orderEvent{n.ID, n.Number, n.Status, n.Version, n.Deliveries, n.Items, n.Reminder})
	if err != nil {
		return "" // texts that are not UTF-8, which PostgreSQL does not store
	}
	return "event: order\ndata: " + string(data) + "\n\n"
}
