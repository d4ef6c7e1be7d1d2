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

// Limits of the evaluation of filters. Queues take turns, one at a time. Each turn is followed by a pause of the same
// length, so that the filters of all websites use at most half a processor.
const (
	filterTurn  = 5 * time.Millisecond  // after which a turn ends with the current evaluation
	filterBatch = 50 * time.Millisecond // of turns, after which a batch ends with the current event

	filterEvents = 500     // events of a queue that are loaded together
	filterBytes  = 1 << 18 // and bytes of their bodies, unless it is a single event

	decisionAge       = 10 * time.Second // of decisions about events that another relay has dispatched
	filterErrorsEvery = time.Minute      // between two writes of the error of a subscription
	filterErrorsBatch = 100              // subscriptions whose error one statement writes
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

// filterError is a failed evaluation.
type filterError struct {
	Subscription app.SubscriptionID
	Version      int64
	Event        app.EventID
	Message      string
	At           time.Time
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

// filteredEvent is an event with the filters to evaluate.
type filteredEvent struct {
	Type  string
	Body  []byte // nil if it is erased
	Pairs []decision
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

// filterRun is the evaluation of a batch.
type filterRun struct {
	*filters

	ctx         context.Context //nolint:containedctx // of the whole run
	waiting     context.Context //nolint:containedctx // for turns
	now         time.Time
	queue       string
	expressions map[app.SubscriptionID]expression
	used        time.Duration // in earlier turns
	began       time.Time     // of the present turn; zero = it is not the turn of the queue
}

// batch decides all filters of the next events, until the batch ends. It returns false if a context ends before.
func (r *filterRun) batch(events []filteredEvent) (made []decision, ok bool) {
	for _, event := range events {
		decided, ok := r.evaluate(event)
		if !ok {
			return made, false
		}
		if made = append(made, decided...); r.used > filterBatch {
			break
		}
	}
	return made, true
}

// evaluate decides all filters of an event, whose body it decodes once. It returns false if a context ends before.
func (r *filterRun) evaluate(event filteredEvent) ([]decision, bool) {
	var data any
	made := make([]decision, 0, len(event.Pairs))
	for i, pair := range event.Pairs {
		if !r.turn() {
			return nil, false
		}
		if i == 0 && event.Body != nil {
			decoded, err := filter.Data(event.Body)
			if err != nil { // impossible: the service has encoded it
				event.Body = nil
			}
			data = decoded
		}
		pair.Matches = true
		if of, ok := r.expressions[pair.Subscription]; ok && of.Version == pair.Version && event.Body != nil {
			pair.Matches = r.matches(event.Type, data, pair, of.Filter)
		}
		made = append(made, pair)
	}
	return made, r.ctx.Err() == nil
}

func (r *filterRun) matches(eventType string, data any, pair decision, expression string) bool {
	program := r.program(r.queue, pair, expression)
	if program.filter == nil {
		return true
	}
	matches, _, err := program.filter.Matches(r.ctx, eventType, data)
	if err != nil && r.ctx.Err() == nil {
		r.report(program, pair, err, r.now)
	}
	return matches
}

// turn waits for the turn of the queue, unless the present one continues. It returns false if a context ends.
func (r *filterRun) turn() bool {
	if !r.began.IsZero() && time.Since(r.began) < filterTurn {
		return r.ctx.Err() == nil
	}
	r.end()
	if r.turns.Take(r.waiting, r.queue) != nil {
		return false
	}
	r.began = time.Now()
	return true
}

// end ends the turn of the queue, if it has one, after the pause.
func (r *filterRun) end() {
	if r.began.IsZero() {
		return
	}
	used := time.Since(r.began)
	r.began, r.used = time.Time{}, r.used+used
	timer := time.NewTimer(used)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.ctx.Done():
	}
	r.turns.Give(r.queue, used)
}

// report stores an error to be written, unless that of the subscription was written a moment ago.
func (f *filters) report(p *program, pair decision, err error, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !p.reported.IsZero() && now.Sub(p.reported) < filterErrorsEvery {
		return
	}
	p.reported = now
	f.errors[pair.Subscription] = filterError{pair.Subscription, pair.Version, pair.Event, err.Error(), now}
}

// failed returns the errors to write.
func (f *filters) failed() (all []filterError) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, e := range f.errors {
		if len(all) < filterErrorsBatch {
			all = append(all, e)
			delete(f.errors, id)
		}
	}
	return all
}

// keep keeps errors that could not be written, unless there are newer ones.
func (f *filters) keep(failed []filterError) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range failed {
		if _, newer := f.errors[e.Subscription]; !newer {
			f.errors[e.Subscription] = e
		}
	}
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

// saveFilterErrors writes the errors of evaluations. It skips rows that another transaction has locked. If it fails,
// the next dispatch repeats it.
func (q *Queue) saveFilterErrors(ctx context.Context) error {
	failed := q.filters.failed()
	if len(failed) == 0 {
		return nil
	}
	var ids []app.SubscriptionID
	var versions []int64
	var events []app.EventID
	var messages []string
	for _, e := range failed {
		ids, versions = append(ids, e.Subscription), append(versions, e.Version)
		events, messages = append(events, e.Event), append(messages, e.Message)
	}
	_, err := q.dispatch.System().NewRaw(`WITH failed AS (
			SELECT h.subscription_id, f.event_id, f.message
			FROM unnest(?0::text[], ?1::bigint[], ?2::text[], ?3::text[]) AS f (id, version, event_id, message)
				JOIN subscriptions s ON s.id = f.id AND s.version = f.version
				JOIN subscription_health h ON h.subscription_id = s.id
			FOR UPDATE OF h SKIP LOCKED
		) UPDATE subscription_health h
		SET filter_error = f.message, filter_error_event = f.event_id, filter_error_at = ?4
		FROM failed f WHERE h.subscription_id = f.subscription_id`,
		pgdialect.Array(ids), pgdialect.Array(versions), pgdialect.Array(events), pgdialect.Array(messages),
		failed[0].At).Exec(ctx)
	if err != nil {
		q.filters.keep(failed)
	}
	return pg.Classify(err)
}
