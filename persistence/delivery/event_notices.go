package delivery

import (
	"context"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// eventsChannel is the notification channel for dispatched events. The payload is the store.
const eventsChannel = "comanda_events"

// ListenEvents listens to the dispatch of the events of all stores. It calls began once it receives notifications, then
// dispatched with the store of each dispatch. It returns when the connection breaks or ctx is done. A notification is
// lost if the process dies immediately after the dispatch; [Queue.EventHeads] finds the missed events.
func (q *Queue) ListenEvents(ctx context.Context, began func(), dispatched func(app.StoreID)) error {
	return q.pg.Listen(ctx, pg.RoleApp, eventsChannel, began, func(payload string) { dispatched(app.StoreID(payload)) })
}

// newEventNotifier returns the notifier of the listeners of events. One statement serves all dispatches of a pause, and
// notifies only of stores with open streams.
func newEventNotifier(db *pg.DB, policy GroupPolicy) *pg.Coalescer[app.StoreID] {
	return pg.NewCoalescer(policy.Pause, policy.Timeout, func(ctx context.Context, stores []app.StoreID) {
		// Listeners also poll, so an error is ignored.
		_, _ = db.System().DB.ExecContext(ctx, notifyEventsStatement, eventsChannel, stores)
	})
}

// notifyEventsStatement notifies the listeners of the events of stores that have open streams. The commit does not wait
// for the disk.
const notifyEventsStatement = `
	SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, store_id)
	FROM (SELECT DISTINCT store_id FROM open_streams
		WHERE store_id = ANY ($2) AND expires_at > clock_timestamp()) watched`
