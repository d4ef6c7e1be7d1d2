package delivery

import (
	"context"
	"time"

	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Limits of the writes of errors of filters.
const (
	filterErrorsEvery = time.Minute // between two writes of the error of a subscription
	filterErrorsBatch = 100         // subscriptions whose error one statement writes
)

// filterError is a failed evaluation.
type filterError struct {
	Subscription app.SubscriptionID
	Version      int64
	Event        app.EventID
	Message      string
	At           time.Time
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
	var times []time.Time
	for _, e := range failed {
		ids, versions = append(ids, e.Subscription), append(versions, e.Version)
		events, messages = append(events, e.Event), append(messages, e.Message)
		times = append(times, e.At)
	}
	_, err := q.dispatch.System().NewRaw(`WITH failed AS (
			SELECT h.subscription_id, f.event_id, f.message, f.at
			FROM unnest(?0::text[], ?1::bigint[], ?2::text[], ?3::text[], ?4::timestamptz[])
					AS f (id, version, event_id, message, at)
				JOIN subscriptions s ON s.id = f.id AND s.version = f.version
				JOIN subscription_health h ON h.subscription_id = s.id
			FOR UPDATE OF h SKIP LOCKED
		) UPDATE subscription_health h
		SET filter_error = f.message, filter_error_event = f.event_id, filter_error_at = f.at
		FROM failed f WHERE h.subscription_id = f.subscription_id`,
		pgdialect.Array(ids), pgdialect.Array(versions), pgdialect.Array(events), pgdialect.Array(messages),
		pgdialect.Array(times)).Exec(ctx)
	if err != nil {
		q.filters.keep(failed)
	}
	return pg.Classify(err)
}
