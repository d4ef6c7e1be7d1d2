// Package workflows contains the Temporal workflows and the processes that start them. Workflows decide when a delivery
// is attempted again, when it becomes a dead letter, and how it is replayed. They are deterministic; their side effects
// are in package activities.
package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

// DeliveryInput is the input of a delivery's workflow. It contains ids and policy, but nothing of the event's body,
// because workflow histories are visible to operators.
type DeliveryInput struct {
	DeliveryID     app.DeliveryID     `json:"deliveryId"`
	StoreID        app.StoreID        `json:"storeId"`
	EventID        app.EventID        `json:"eventId"`
	EventType      app.EventType      `json:"eventType"`
	SubscriptionID app.SubscriptionID `json:"subscriptionId"`
	Attempts       int                `json:"attempts"` // attempts made before this run
	Quick          bool               `json:"quick"`    // the first attempt of this run may use the fast lane
	Policy         Policy             `json:"policy"`

	Version int    `json:"version"` // see deliveryVersion
	Queue   string `json:"queue"`   // the website, or all its sandboxes

	// A run can continue a schedule: Place is the number of attempts that were already made, and NextAttempt is the
	// time of the next one (nil = now).
	Place       int        `json:"place,omitempty"`
	NextAttempt *time.Time `json:"nextAttemptAt,omitempty"`
	// Shown is the value of ComandaDeliveryState at the start of the run; "" = unset.
	Shown app.DeliveryStatus `json:"shown,omitempty"`
}

// deliveryVersion is the version of the commands (activities, timers, search attributes) that a run of Delivery
// produces. The first release has version 1. A change of the commands adds a version, and Delivery branches on the
// version of its input as long as runs of the earlier version can be open.
//
// A run keeps the version with which it started; continuing as new upgrades it. The version is part of the input,
// because workflow.GetVersion would add two events (a marker and an upsert) to each run whose first attempt fails.
//
// A worker runs a later version, which a newer release started, like its own. If the commands differ, the history may
// be impossible to replay. The reconciler restarts such a delivery (see [WorkflowStuck]).
const deliveryVersion = 1

// Policy holds the settings that can differ between releases and installations.
type Policy struct {
	Schedule     app.RetrySchedule `json:"schedule"`
	Retention    time.Duration     `json:"retention"`    // time for which a dead letter waits for a replay
	AttemptLimit time.Duration     `json:"attemptLimit"` // maximum duration of an attempt, including recording it
}

// DeliveryState is the response to the query "state".
type DeliveryState struct {
	State      string            `json:"state"`           // "attempting" or an app.DeliveryStatus
	Waits      string            `json:"waits,omitempty"` // why an attempt that is due is not made
	Attempts   int               `json:"attempts"`        // attempts made so far, including replays
	StatusCode int               `json:"statusCode,omitempty"`
	Reason     string            `json:"reason,omitempty"` // reason of the last failure
	NextRetry  *time.Time        `json:"nextRetryAt,omitempty"`
	Expires    *time.Time        `json:"expiresAt,omitempty"` // time until which a dead letter can be replayed
	Schedule   app.RetrySchedule `json:"schedule"`
}

const stateAttempting = "attempting"

// Delivery delivers one event to one subscription. It makes attempts according to the schedule. A dead letter then
// waits for a replay. If the first attempt succeeds, the workflow consists of one local activity.
//
// A replay can be signalled while the delivery ends. Therefore, Delivery reads its signals immediately before it
// returns. If a signal arrives later, the server rejects the completion and runs the last workflow task again.
func Delivery(ctx workflow.Context, in DeliveryInput) (DeliveryState, error) {
	d := newDelivery(in)
	err := workflow.SetQueryHandler(ctx, QueryState, func() (DeliveryState, error) { return d.state, nil })
	if err != nil {
		return d.state, err
	}
	if err := d.acceptRetries(ctx); err != nil {
		return d.state, err
	}
	d.replaySignalled(ctx) // drops a signal for the first attempt, which the run makes in any case
	err = d.awaitFirst(ctx)
	for err == nil {
		d.ended = false
		err = d.runSchedule(ctx)
		d.settle(ctx)
		if err != nil {
			break
		}
		replayed := d.replaySignalled(ctx)
		if !replayed && d.state.State == string(app.DeliveryDeadLetter) {
			if replayed, err = d.awaitReplay(ctx); err != nil {
				break
			}
		}
		if !replayed {
			return d.state, nil
		}
		d.place, d.fast = 0, false
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			err = d.continueAsNew(ctx)
		}
	}
	return d.state, d.cancelled(ctx, err)
}

// delivery is the state of one run.
type delivery struct {
	in    DeliveryInput
	state DeliveryState
	place int  // attempts made in the current schedule
	fast  bool // the next attempt may use the fast lane
	// shown is the value of ComandaDeliveryState; "" = not set, because no attempt has failed.
	shown app.DeliveryStatus
	// replays lists the attempts of replay signals that arrived early.
	replays []int

	waiting   bool // for an attempt that a retry can request
	requested int  // the attempt that the last retry requested
	ended     bool // the schedule has ended, so a retry has no effect
}

func newDelivery(in DeliveryInput) *delivery {
	d := &delivery{in: in, fast: in.Quick, shown: in.Shown}
	// If the configured schedule became shorter, one attempt remains.
	d.place = min(in.Place, len(in.Policy.Schedule))
	d.state = DeliveryState{
		State: stateAttempting, Attempts: in.Attempts, NextRetry: in.NextAttempt, Schedule: in.Policy.Schedule,
	}
	if d.place > 0 {
		d.state.State = string(app.DeliveryRetrying)
	}
	return d
}

// awaitFirst waits until the first attempt of the run is due.
func (d *delivery) awaitFirst(ctx workflow.Context) error {
	if d.in.NextAttempt == nil {
		return nil
	}
	delay := d.in.NextAttempt.Sub(workflow.Now(ctx))
	if delay <= 0 {
		return nil
	}
	workflow.SetCurrentDetails(ctx, d.nextName()+" at "+clock(*d.in.NextAttempt))
	return d.awaitNext(ctx, delay)
}

// runSchedule makes attempts until the delivery is delivered, cancelled or a dead letter. Its error is a cancellation
// or a continue-as-new error.
func (d *delivery) runSchedule(ctx workflow.Context) error {
	for {
		result, err := d.nextAttempt(ctx)
		if err != nil {
			return err
		}
		name := d.nextName() // a replay may have begun the schedule again
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
		d.place++
		d.state.Attempts++
		d.fast = result.Quick
		failed := name + " failed: " + result.Reason
		delay, more := d.in.Policy.Schedule.Delay(d.place)
		if !more {
			return d.enter(ctx, app.DeliveryDeadLetter, failed+"; dead letter")
		}
		next := workflow.Now(ctx).Add(delay)
		d.state.NextRetry = &next
		if err := d.enter(ctx, app.DeliveryRetrying, failed+"; next at "+clock(next)); err != nil {
			return err
		}
		if err := d.awaitNext(ctx, delay); err != nil {
			return err
		}
	}
}

// nextName returns the next attempt's place in the schedule, such as "attempt 2 of 6".
func (d *delivery) nextName() string {
	return fmt.Sprintf("attempt %d of %d", d.place+1, d.in.Policy.Schedule.Attempts())
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }

func date(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// enter sets the state, the details and, if its value changes, the search attribute. A delivery whose first attempt
// succeeds sets no search attribute.
func (d *delivery) enter(ctx workflow.Context, state app.DeliveryStatus, details string) error {
	d.state.State = string(state)
	workflow.SetCurrentDetails(ctx, details)
	if state == d.shown || state == app.DeliveryDelivered && d.shown == "" {
		return nil
	}
	d.shown = state
	return workflow.UpsertTypedSearchAttributes(ctx, attributeState.ValueSet(string(state)))
}

func (d *delivery) sleep(ctx workflow.Context, delay time.Duration, summary string) error {
	return workflow.NewTimerWithOptions(ctx, delay, workflow.TimerOptions{Summary: summary}).Get(ctx, nil)
}

// continueAsNew returns the error that continues the delivery in a new run, at the same place of the schedule. The SDK
// carries the search attributes over.
func (d *delivery) continueAsNew(ctx workflow.Context) error {
	in := d.in
	in.Version, in.Attempts, in.Quick = deliveryVersion, d.state.Attempts, d.fast
	in.Place, in.NextAttempt, in.Shown = d.place, nil, d.shown
	return workflow.NewContinueAsNewError(ctx, Delivery, in)
}

// cancelled records that the workflow was cancelled and returns the error that ends the run: the cancellation, or a
// continue-as-new error if the delivery was replayed in the meantime. A replay cannot begin in the same run, because
// its context is cancelled. Errors other than cancellations are returned unchanged.
func (d *delivery) cancelled(ctx workflow.Context, cause error) error {
	if !temporal.IsCanceledError(cause) {
		return cause
	}
	detached, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	options := jobOptions(temporal.Priority{FairnessKey: d.in.Queue}, d.in.Policy.AttemptLimit)
	options.Summary = "record the cancellation"
	recording := workflow.WithActivityOptions(detached, options)
	in := activities.CancelInput{DeliveryID: d.in.DeliveryID}
	if err := workflow.ExecuteActivity(recording, activityCancel, in).Get(recording, nil); err != nil {
		return err
	}
	if err := d.enter(detached, app.DeliveryCancelled, app.ReasonCancelled); err != nil {
		return err
	}
	if !d.replaySignalled(detached) {
		return cause
	}
	d.place, d.fast = 0, false
	return d.continueAsNew(detached)
}
