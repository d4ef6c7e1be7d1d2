// Package delivery is the queue between a committed event and its recorded attempts: outbox,
// dispatch, plan windows, claims, attempts, replays, jobs, mails, the watchdog and retention.
package delivery

import (
	"sync/atomic"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Config is the configuration of a [Queue].
type Config struct {
	Sealer     app.Sealer // seals the secrets of subscriptions and mails
	Mails      bool       // enqueue mails: a mail server is configured
	Policy     Policy
	PlanWindow time.Duration // length of a plan's window in whole seconds; 0 = app.DefaultPlanWindow

	// Ended is called after this process has ended n deliveries with the same status: delivered,
	// dead_letter or cancelled. It may be nil.
	Ended func(status app.DeliveryStatus, n int)
}

// Queue is the delivery queue of a database. Its methods are safe for concurrent use.
type Queue struct {
	pg     *pg.DB
	sealer app.Sealer
	mails  bool
	policy Policy

	relay, dispatch, attempts, deadlines *pg.DB // with the pools of these purposes

	session atomic.Int32 // relay of this process, see relayLocks; 0 = none

	planWindow time.Duration
	positions  claimPositions
	jobTurns   [2]turn // of jobs, and of urgent jobs
	lost       lostPositions
	dispatches dispatchTurns
	filters    *filters

	ended func(status app.DeliveryStatus, n int)

	loader   *grouper[attemptKey, *app.Outgoing]
	bodies   *grouper[app.DeliveryID, []byte]
	recorder *grouper[app.MadeAttempt, bool]
	orders   *pg.Coalescer[changedEvent]
	events   *pg.Coalescer[app.StoreID]
	passed   *pg.Coalescer[struct{}]
	sweep    turnSweep
}

// New returns the queue of a database. Close it before the database.
func New(db *pg.DB, config Config) *Queue {
	q := &Queue{
		pg: db, sealer: config.Sealer, mails: config.Mails, policy: config.Policy, planWindow: config.PlanWindow,
		ended: config.Ended,
		relay: db.For(pg.Relay), dispatch: db.For(pg.Dispatch), attempts: db.For(pg.Attempts),
		deadlines: db.For(pg.Deadlines),
	}
	if q.planWindow == 0 {
		q.planWindow = app.DefaultPlanWindow
	}
	if q.ended == nil {
		q.ended = func(app.DeliveryStatus, int) {}
	}
	q.filters = newFilters()
	q.lost.of = map[app.JobKind]lostPosition{}
	q.loader = newGrouper(q.policy.Load, nil, nil, q.outgoing)
	q.bodies = newGrouper(q.policy.Bodies, nil, nil, q.outgoingBodies)
	q.recorder = newGrouper(q.policy.Record, app.MadeAttempt.PassesTurn, recordOwner, q.recordAttempts)
	q.orders = newOrderNotifier(q.attempts, q.policy.OrderNotices)
	q.events = newEventNotifier(q.dispatch, q.policy.EventNotices)
	q.passed = newTurnNotifier(q.attempts, q.policy.TurnNotices)
	return q
}

// Close sends the pending notifications and ends the evaluation of filters. Calls that wait for a shared statement
// return an error.
func (q *Queue) Close() {
	q.filters.close()
	q.loader.close()
	q.bodies.close()
	q.recorder.close()
	q.orders.Close()
	q.events.Close()
	q.passed.Close()
}
