package delivery

import (
	"context"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// eventsChannel is the notification channel for dispatched events. The payload is the store.
const eventsChannel = "comanda_events"

// ListenEvents listens to the dispatch of the events of all stores. It calls began once it receives notifications, then
// heard with the store of each dispatch. It returns when the connection breaks or ctx is done. A notification is lost
// if the process dies immediately after the dispatch; [Queue.EventHeads] finds the missed events.
func (q *Queue) ListenEvents(ctx context.Context, began func(), heard func(app.StoreID)) error {
	return q.pg.Listen(ctx, pg.RoleApp, eventsChannel, began, func(payload string) { heard(app.StoreID(payload)) })
}

// eventNotifier notifies the listeners of events. One statement serves all dispatches of a pause, and notifies only of
// stores with open streams.
type eventNotifier struct {
	pg      *pg.DB
	policy  GroupPolicy
	closing chan struct{}
	done    sync.WaitGroup

	mu      sync.Mutex
	stores  map[app.StoreID]bool // waiting for the next statement
	running bool
}

func newEventNotifier(db *pg.DB, policy GroupPolicy) *eventNotifier {
	return &eventNotifier{pg: db, policy: policy, closing: make(chan struct{}), stores: map[app.StoreID]bool{}}
}

// add enqueues notifications of the committed dispatch of some stores' events. It does not wait.
func (n *eventNotifier) add(stores []app.StoreID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, store := range stores {
		n.stores[store] = true
	}
	if len(n.stores) > 0 && !n.running {
		n.running = true
		n.done.Go(n.run)
	}
}

// run sends notifications until there are no more dispatches.
func (n *eventNotifier) run() {
	for {
		select {
		case <-time.After(n.policy.Pause):
		case <-n.closing:
		}
		n.mu.Lock()
		var stores []app.StoreID
		for store := range n.stores {
			stores = append(stores, store)
		}
		clear(n.stores)
		n.running = len(stores) > 0
		n.mu.Unlock()
		if len(stores) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), n.policy.Timeout)
		// Listeners also poll, so an error is ignored.
		_, _ = n.pg.System().DB.ExecContext(ctx, notifyEvents, eventsChannel, stores)
		cancel()
	}
}

// close sends the waiting notifications.
func (n *eventNotifier) close() {
	close(n.closing)
	n.done.Wait()
}

// notifyEvents notifies the listeners of the events of stores that have open streams. The commit does not wait for the
// disk.
const notifyEvents = `
	SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, store_id)
	FROM (SELECT DISTINCT store_id FROM open_streams
		WHERE store_id = ANY ($2) AND expires_at > clock_timestamp()) watched`
