package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// recordPause is the time between two attempts to write a record.
const recordPause = 500 * time.Millisecond

// record records an attempt in the database. While the database is not available, for example because rows of the
// webhook are locked, it repeats the statement within the limit of the policy: the next execution of the activity may
// be that of another worker, which would repeat the attempt. For an execution here, it keeps an attempt that it cannot
// record in memory.
func (d *Deliveries) record(ctx context.Context, made app.MadeAttempt) (attempted, error) {
	key := attemptKey(made.DeliveryID, made.Number)
	d.unrecorded.keep(key, made, d.now())
	ctx, recorded := context.WithTimeout(ctx, d.policy.Record)
	defer recorded()
	fresh, err := d.store.RecordAttempt(ctx, made)
	for app.CodeOf(err) == app.CodeUnavailable {
		select {
		case <-ctx.Done():
			return attempted{}, err
		case <-time.After(recordPause):
			fresh, err = d.store.RecordAttempt(ctx, made)
		}
	}
	if err != nil {
		return attempted{}, err
	}
	d.unrecorded.drop(key)
	if !fresh {
		return d.recorded(ctx, made)
	}
	result := resultOf(app.Attempt{
		Status: made.Status, StatusCode: made.StatusCode, Error: made.Error,
		DeliveredAt: app.At(made.At), ResponseTimeMs: made.Duration.Milliseconds(),
	}, made.RetryIn)
	d.metrics.made.WithLabelValues(string(result.Outcome)).Inc()
	d.metrics.duration.Observe(made.Duration.Seconds())
	return result, nil
}

// recorded returns the stored result of an attempt that was already recorded, usually by another worker. The workflow
// must follow that record, as the delivery's row does. Without a record, a replay of the delivery is in progress, and
// the error repeats the activity.
func (d *Deliveries) recorded(ctx context.Context, made app.MadeAttempt) (attempted, error) {
	outgoing, err := d.store.Outgoing(ctx, made.DeliveryID, made.Number)
	switch {
	case app.CodeOf(err) == app.CodeNotFound:
		return erased(), nil
	case err != nil:
		return attempted{}, err
	case outgoing.Recorded == nil:
		return attempted{}, fmt.Errorf("attempt %d of delivery %s is earlier than its replay", made.Number,
			made.DeliveryID)
	}
	return resultOf(*outgoing.Recorded, made.RetryIn), nil
}

// resultOf returns the result of a recorded attempt. retryIn is the delay of the next attempt in the schedule.
func resultOf(recorded app.Attempt, retryIn time.Duration) attempted {
	result := attempted{status: recorded.Status, DeliverResult: DeliverResult{
		Outcome: OutcomeDelivered, StatusCode: recorded.StatusCode, Quick: recorded.Quick(),
	}}
	if recorded.Status != app.AttemptDelivered {
		result.Outcome, result.Reason = OutcomeFailed, recorded.Error
	}
	if recorded.Status == app.AttemptRetrying {
		took := time.Duration(recorded.ResponseTimeMs) * time.Millisecond
		result.retryAt = recorded.DeliveredAt.Add(took + retryIn)
	}
	return result
}

// end ends a loaded delivery without an attempt.
func (d *Deliveries) end(
	ctx context.Context, id app.DeliveryID, loaded app.Outgoing, outcome Outcome, reason string,
) (attempted, error) {
	ctx, ended := context.WithTimeout(ctx, d.policy.Record)
	defer ended()
	err := d.store.EndLoaded(ctx, d.now(), id, loaded.Replays, app.DeliveryStatus(outcome), reason)
	return withoutAttempt(outcome, reason), err
}
