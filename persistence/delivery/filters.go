package delivery

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/filter"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Limits of the events whose filters are evaluated.
const (
	filterEvents = 500     // events of a queue that are loaded together
	filterBytes  = 1 << 18 // and bytes of their bodies, unless it is a single event

	decisionAge = 10 * time.Second // of decisions about events that another relay has dispatched
)

// decision is the result of a filter for an event.
type decision struct {
	Event        app.EventID
	Subscription app.SubscriptionID
	Version      int64 // of the subscription
	Matches      bool
}

// decisionColumns are decisions as arguments and results of a statement.
type decisionColumns struct {
	events        []app.EventID
	subscriptions []app.SubscriptionID
	versions      []int64
	matches       []bool
}

func decisionsAsColumns(all []decision) (c decisionColumns) {
	for _, d := range all {
		c.events, c.subscriptions = append(c.events, d.Event), append(c.subscriptions, d.Subscription)
		c.versions, c.matches = append(c.versions, d.Version), append(c.matches, d.Matches)
	}
	return c
}

func (c decisionColumns) decisions() (all []decision) {
	for i, event := range c.events {
		all = append(all, decision{Event: event, Subscription: c.subscriptions[i], Version: c.versions[i]})
	}
	return all
}

// decisions are those about the next events of a queue.
type decisions struct {
	made   []decision
	ready  bool      // otherwise they are being evaluated
	passed bool      // to a dispatch
	at     time.Time // of the dispatch that asked for them
}

// filters evaluates the filters of events that wait for their dispatch. A dispatch returns the undecided events, and
// the next one receives the decisions: no transaction waits for an evaluation. Replays of missed events share the
// turns. It is safe for concurrent use.
type filters struct {
	mu       sync.Mutex
	queues   map[string]*decisions
	programs programs
	turns    filter.Turns
	errors   map[app.SubscriptionID]filterError // not yet written
	wake     func()                             // the relay, after an evaluation; may be nil

	ctx    context.Context //nolint:containedctx // ends the evaluations when the queue is closed
	cancel context.CancelFunc
	group  sync.WaitGroup
}

func newFilters() *filters {
	f := &filters{queues: map[string]*decisions{}, errors: map[app.SubscriptionID]filterError{}}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

func (f *filters) close() {
	f.cancel()
	f.group.Wait()
}

// onReady sets the function that is called after an evaluation.
func (f *filters) onReady(wake func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wake = wake
}

// ready returns about limit decisions, and whether more are ready. Decisions that no dispatch has received come first:
// most others are about dispatched events. Then it begins with the queue after last, like the dispatch does.
func (f *filters) ready(now time.Time, last string, limit int) (all []decision, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.queues, func(_ string, d *decisions) bool { return d.passed && now.Sub(d.at) > decisionAge })
	queues := slices.SortedFunc(maps.Keys(f.queues), func(a, b string) int {
		switch {
		case f.queues[a].passed != f.queues[b].passed:
			if f.queues[b].passed {
				return -1
			}
			return 1
		case (a > last) != (b > last):
			return cmp.Compare(b, a)
		}
		return cmp.Compare(a, b)
	})
	for _, queue := range queues {
		switch d := f.queues[queue]; {
		case !d.ready:
		case len(all) < limit:
			all = append(all, d.made...)
			d.passed = true
		case !d.passed:
			more = true
		}
	}
	return all, more
}

// undecided are events of a queue and the subscriptions whose filters are not decided.
type undecided struct {
	events []app.EventID
	of     map[app.EventID][]decision
}

// want returns the undecided events of the queues that are not being evaluated. An earlier decision about the same
// event is kept.
func (f *filters) want(now time.Time, queues []string, pairs []decision) map[string]*undecided {
	f.mu.Lock()
	defer f.mu.Unlock()
	wanted := map[string]*undecided{}
	for i, queue := range queues {
		if d := f.queues[queue]; d != nil && (!d.ready || !d.passed) {
			continue
		}
		u := wanted[queue]
		if u == nil {
			u = &undecided{of: map[app.EventID][]decision{}}
			wanted[queue] = u
		}
		event := pairs[i].Event
		if u.of[event] == nil {
			u.events = append(u.events, event)
		}
		u.of[event] = append(u.of[event], pairs[i])
	}
	for queue, u := range wanted {
		next := &decisions{at: now}
		if d := f.queues[queue]; d != nil {
			for _, made := range d.made {
				if u.of[made.Event] != nil {
					next.made = append(next.made, made)
				}
			}
		}
		f.queues[queue] = next
	}
	return wanted
}

// drop forgets the events of queues that could not be loaded.
func (f *filters) drop(wanted map[string]*undecided) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for queue := range wanted {
		delete(f.queues, queue)
	}
}

// evaluate evaluates the filters of events of a queue in the background. expressions are those of the subscriptions.
func (f *filters) evaluate(now time.Time, queue string, events []filteredEvent,
	expressions map[app.SubscriptionID]expression,
) {
	f.group.Go(func() {
		run := filterRun{filters: f, ctx: f.ctx, waiting: f.ctx, now: now, queue: queue, expressions: expressions}
		defer run.end()
		made, ok := run.batch(events)
		if !ok {
			return // the queue is closed
		}
		f.mu.Lock()
		d := f.queues[queue]
		d.made, d.ready = append(d.made, made...), true
		wake := f.wake
		f.mu.Unlock()
		if wake != nil {
			wake()
		}
	})
}

// expression is the filter of a version of a subscription.
type expression struct {
	ID      app.SubscriptionID
	Version int64
	Filter  string
}

// startFilters begins to evaluate the filters of events that a dispatch has returned.
func (q *Queue) startFilters(ctx context.Context, now time.Time, queues []string, pairs []decision) error {
	wanted := q.filters.want(now, queues, pairs)
	if len(wanted) == 0 {
		return nil
	}
	events, expressions, err := q.loadFilters(ctx, wanted)
	if err != nil {
		q.filters.drop(wanted)
		return pg.Classify(err)
	}
	for queue := range wanted {
		q.filters.evaluate(now, queue, events[queue], expressions)
	}
	return nil
}

// loadFilters loads the next undecided events of each queue, and the filters of their subscriptions.
func (q *Queue) loadFilters(ctx context.Context, wanted map[string]*undecided) (
	map[string][]filteredEvent, map[app.SubscriptionID]expression, error,
) {
	var queues []string
	var ids []app.EventID
	subscriptions := map[app.SubscriptionID]bool{}
	for queue, u := range wanted {
		for _, id := range u.events[:min(len(u.events), filterEvents)] {
			queues, ids = append(queues, queue), append(ids, id)
			for _, pair := range u.of[id] {
				subscriptions[pair.Subscription] = true
			}
		}
	}
	db := q.dispatch.System()
	var rows []struct {
		Queue string
		ID    app.EventID
		Type  string
		Body  *string
	}
	err := db.NewRaw(`SELECT queue, id, type, body FROM (
			SELECT w.queue, e.id, e.type, e.body, w.n, row_number() OVER queue AS nth,
				sum(octet_length(coalesce(e.body, ''))) OVER queue AS bytes
			FROM unnest(?0::text[], ?1::text[]) WITH ORDINALITY AS w (queue, id, n) JOIN outbox e ON e.id = w.id
			WINDOW queue AS (PARTITION BY w.queue ORDER BY w.n)) sized
		WHERE nth = 1 OR bytes <= ?2 ORDER BY n`,
		pgdialect.Array(queues), pgdialect.Array(ids), filterBytes).Scan(ctx, &rows)
	if err != nil {
		return nil, nil, err
	}
	events := map[string][]filteredEvent{}
	for _, row := range rows {
		event := filteredEvent{Type: row.Type, Pairs: wanted[row.Queue].of[row.ID]}
		if row.Body != nil {
			event.Body = []byte(*row.Body)
		}
		events[row.Queue] = append(events[row.Queue], event)
	}
	var found []expression
	err = db.NewRaw("SELECT id, version, filter FROM subscriptions WHERE id = ANY (?) AND filter IS NOT NULL",
		pgdialect.Array(slices.Collect(maps.Keys(subscriptions)))).Scan(ctx, &found)
	expressions := map[app.SubscriptionID]expression{}
	for _, of := range found {
		expressions[of.ID] = of
	}
	return events, expressions, err
}
