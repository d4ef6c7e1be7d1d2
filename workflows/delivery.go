// Package workflows holds the decisions that take time: when a delivery is attempted
// again, when it is given up, and how it is replayed. Everything here is deterministic;
// what touches the world is in package activities.
package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

// DeliveryInput is all that a delivery's workflow starts with. It holds ids and policy;
// history is not private, so there is nothing of the event in it.
type DeliveryInput struct {
	DeliveryID     app.DeliveryID     `json:"deliveryId"`
	StoreID        app.StoreID        `json:"storeId"`
	EventID        app.EventID        `json:"eventId"`
	EventType      app.EventType      `json:"eventType"`
	SubscriptionID app.SubscriptionID `json:"subscriptionId"`
	Attempts       int                `json:"attempts"` // made before this run
	Quick          bool               `json:"quick"`    // the first attempt may take the fast lane
	Policy         Policy             `json:"policy"`
}

// Policy is what may change between releases and installations.
type Policy struct {
	Schedule     app.RetrySchedule `json:"schedule"`
	Retention    time.Duration     `json:"retention"`    // how long a dead letter waits for a replay
	AttemptLimit time.Duration     `json:"attemptLimit"` // for one attempt with its record
}

// DeliveryState answers the query "state".
type DeliveryState struct {
	State      string            `json:"state"`    // attempting, or a delivery's status
	Attempts   int               `json:"attempts"` // made so far, replays included
	StatusCode int               `json:"statusCode,omitempty"`
	Reason     string            `json:"reason,omitempty"` // of the last failure
	NextRetry  *time.Time        `json:"nextRetryAt,omitempty"`
	Expires    *time.Time        `json:"expiresAt,omitempty"` // when a dead letter can no longer be replayed
	Schedule   app.RetrySchedule `json:"schedule"`
}

const stateAttempting = "attempting"

// ReplaySignal asks for a replay. Sent by a relay it names the attempt that it is to
// begin with, so that it is neither missed when early nor obeyed twice; sent by an
// operator it is empty.
type ReplaySignal struct {
	Attempt int `json:"attempt"`
}

// Delivery brings one event to one subscription: attempts as the schedule says, then a
// dead letter that waits for a replay. Its straight path is one local activity.
func Delivery(ctx workflow.Context, in DeliveryInput) (DeliveryState, error) {
	d := &delivery{in: in, state: DeliveryState{State: stateAttempting, Attempts: in.Attempts, Schedule: in.Policy.Schedule}}
	err := workflow.SetQueryHandler(ctx, QueryState, func() (DeliveryState, error) { return d.state, nil })
	if err != nil {
		return d.state, err
	}
	fast := in.Quick
	for {
		if err := d.runSchedule(ctx, fast); err != nil {
			return d.state, d.cancelled(ctx, err)
		}
		if d.state.State != string(app.DeliveryDeadLetter) {
			return d.state, nil
		}
		replay, err := d.awaitReplay(ctx)
		if err != nil {
			return d.state, d.cancelled(ctx, err)
		}
		if !replay {
			return d.state, nil
		}
		fast = false
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			in.Attempts, in.Quick = d.state.Attempts, false
			return d.state, workflow.NewContinueAsNewError(ctx, Delivery, in)
		}
	}
}

// delivery is the state of one run.
type delivery struct {
	in    DeliveryInput
	state DeliveryState
	// strayed is set once the delivery has left the straight path: from then on its state
	// is a search attribute.
	strayed bool
}

// runSchedule makes attempts until one is delivered or there are no more. It returns an
// error only when the workflow is cancelled.
func (d *delivery) runSchedule(ctx workflow.Context, fast bool) error {
	schedule := d.in.Policy.Schedule
	for place := 1; place <= schedule.Attempts(); place++ {
		delay, more := schedule.Delay(place)
		d.state.State, d.state.NextRetry, d.state.Expires = stateAttempting, nil, nil
		if d.strayed {
			workflow.SetCurrentDetails(ctx, fmt.Sprintf("attempt %d of %d is on its way", place, schedule.Attempts()))
		}
		result, err := d.attempt(ctx, fast && place == 1, place, delay)
		if err != nil {
			return err
		}
		d.state.StatusCode, d.state.Reason = result.StatusCode, result.Reason
		switch result.Outcome {
		case activities.OutcomeDelivered:
			d.state.Attempts++
			return d.enter(ctx, app.DeliveryDelivered, fmt.Sprintf("delivered by attempt %d", d.state.Attempts))
		case activities.OutcomeCancelled:
			return d.enter(ctx, app.DeliveryCancelled, "cancelled: "+result.Reason)
		case activities.OutcomeDeadLetter:
			return d.enter(ctx, app.DeliveryDeadLetter, "dead letter: "+result.Reason)
		}
		d.state.Attempts++
		failed := fmt.Sprintf("attempt %d of %d failed: %s", place, schedule.Attempts(), result.Reason)
		if !more {
			return d.enter(ctx, app.DeliveryDeadLetter, failed+"; dead letter")
		}
		next := workflow.Now(ctx).Add(delay)
		d.state.NextRetry = &next
		if err := d.enter(ctx, app.DeliveryRetrying, failed+"; next at "+next.UTC().Format("15:04:05 UTC")); err != nil {
			return err
		}
		if err := d.sleep(ctx, delay, fmt.Sprintf("attempt %d of %d", place+1, schedule.Attempts())); err != nil {
			return err
		}
	}
	return nil
}

// attempt runs the activity Deliver: in the fast lane as a local activity, else as an
// ordinary one on the queue of the slow lane. Cancelling the workflow does not interrupt
// it; what has begun is recorded first.
func (d *delivery) attempt(ctx workflow.Context, fast bool, place int, retryIn time.Duration) (activities.DeliverResult, error) {
	if err := ctx.Err(); err != nil {
		return activities.DeliverResult{}, err
	}
	detached, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	in := activities.DeliverInput{DeliveryID: d.in.DeliveryID, Attempt: d.state.Attempts + 1, RetryIn: retryIn}
	retry := &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute}
	summary := fmt.Sprintf("attempt %d of %d", place, d.in.Policy.Schedule.Attempts())
	var result activities.DeliverResult
	if fast {
		detached = workflow.WithLocalActivityOptions(detached, workflow.LocalActivityOptions{
			StartToCloseTimeout: d.in.Policy.AttemptLimit,
			// It covers all tries together, and would be one StartToCloseTimeout if unset: an
			// outage of the database must not end the delivery.
			ScheduleToCloseTimeout: 365 * 24 * time.Hour,
			RetryPolicy:            retry, Summary: summary,
		})
		err := workflow.ExecuteLocalActivity(detached, activityDeliver, in).Get(detached, &result)
		return result, err
	}
	detached = workflow.WithActivityOptions(detached, workflow.ActivityOptions{
		TaskQueue: SlowTaskQueue, StartToCloseTimeout: d.in.Policy.AttemptLimit, RetryPolicy: retry, Summary: summary,
	})
	err := workflow.ExecuteActivity(detached, activityDeliver, in).Get(detached, &result)
	return result, err
}

// enter notes a state where operators look for it. A delivery that succeeds at once stays
// on the straight path, without an event of its own.
func (d *delivery) enter(ctx workflow.Context, state app.DeliveryStatus, details string) error {
	d.state.State = string(state)
	workflow.SetCurrentDetails(ctx, details)
	if state == app.DeliveryDelivered && !d.strayed {
		return nil
	}
	d.strayed = true
	return workflow.UpsertTypedSearchAttributes(ctx, attributeState.ValueSet(string(state)))
}

func (d *delivery) sleep(ctx workflow.Context, delay time.Duration, summary string) error {
	return workflow.NewTimerWithOptions(ctx, delay, workflow.TimerOptions{Summary: summary}).Get(ctx, nil)
}

// awaitReplay waits for a replay until the dead letter expires, and reports whether one
// was asked for.
func (d *delivery) awaitReplay(ctx workflow.Context) (bool, error) {
	signals := workflow.GetSignalChannel(ctx, SignalReplay)
	next := d.state.Attempts + 1
	// What came too early is dropped, unless it names the attempt that comes next: a
	// relay can be quicker than the end of the attempt before.
	for early := (ReplaySignal{}); signals.ReceiveAsync(&early); early = (ReplaySignal{}) {
		if early.Attempt == next {
			return true, nil
		}
	}
	expires := workflow.Now(ctx).Add(d.in.Policy.Retention)
	d.state.Expires = &expires
	waiting, stop := workflow.WithCancel(ctx)
	defer stop()
	expired := workflow.NewTimerWithOptions(waiting, d.in.Policy.Retention, workflow.TimerOptions{Summary: "the dead letter expires"})
	for {
		var replay, timeout bool
		selector := workflow.NewSelector(ctx)
		selector.AddReceive(signals, func(c workflow.ReceiveChannel, _ bool) {
			var signal ReplaySignal
			c.Receive(ctx, &signal)
			replay = signal.Attempt == 0 || signal.Attempt == next
		})
		selector.AddFuture(expired, func(workflow.Future) { timeout = true })
		selector.Select(ctx)
		switch {
		case replay:
			return true, nil
		case ctx.Err() != nil:
			return false, ctx.Err()
		case timeout:
			workflow.SetCurrentDetails(ctx, "dead letter, expired")
			return false, nil
		}
	}
}

// cancelled records that the workflow was cancelled, and returns the error that ends it
// as such.
func (d *delivery) cancelled(ctx workflow.Context, cause error) error {
	if !temporal.IsCanceledError(cause) {
		return cause
	}
	detached, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	detached = workflow.WithActivityOptions(detached, workflow.ActivityOptions{
		TaskQueue: SlowTaskQueue, StartToCloseTimeout: d.in.Policy.AttemptLimit, Summary: "record the cancellation",
	})
	err := workflow.ExecuteActivity(detached, activityCancel, activities.CancelInput{DeliveryID: d.in.DeliveryID}).Get(detached, nil)
	if err != nil {
		return err
	}
	if err := d.enter(detached, app.DeliveryCancelled, app.ReasonCancelled); err != nil {
		return err
	}
	return cause
}
