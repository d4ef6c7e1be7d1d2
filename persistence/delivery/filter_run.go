package delivery

import (
	"context"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/filter"
)

// Limits of the evaluation of filters. Queues take turns, one at a time. Each turn is followed by a pause of the same
// length, so that the filters of all websites use at most half a processor.
const (
	filterTurn  = 5 * time.Millisecond  // after which a turn ends with the current evaluation
	filterBatch = 50 * time.Millisecond // of turns, after which a batch ends with the current event
)

// filteredEvent is an event with the filters to evaluate.
type filteredEvent struct {
	Type  string
	Body  []byte // nil if it is erased
	Pairs []decision
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
