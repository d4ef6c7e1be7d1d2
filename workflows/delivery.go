// Package workflows holds the decisions that take time: when a delivery is attempted
// again, when it becomes a dead letter, and how it is replayed. Workflows are deterministic;
// their side effects are in package activities.
package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

// DeliveryInput is the input of a delivery's workflow. It holds ids and policy, and nothing
// of the event's body, because histories are not private.
type DeliveryInput struct {
	DeliveryID     app.DeliveryID     `json:"deliveryId"`
	StoreID        app.StoreID        `json:"storeId"`
	EventID        app.EventID        `json:"eventId"`
	EventType      app.EventType      `json:"eventType"`
	SubscriptionID app.SubscriptionID `json:"subscriptionId"`
	Attempts       int                `json:"attempts"` // made before this run
	Quick          bool               `json:"quick"`    // the first attempt of this run may take the fast lane
	Policy         Policy             `json:"policy"`

	Version int    `json:"version,omitempty"` // see deliveryVersion
	Queue   string `json:"queue,omitempty"`   // the website or the sandbox twin; "" = the store

	// A run that continues a schedule starts behind the attempts of that schedule which are
	// already made, at the time of the next one. nil = now.
	Place       int        `json:"place,omitempty"`
	NextAttempt *time.Time `json:"nextAttemptAt,omitempty"`
	// Shown is the value of ComandaDeliveryState at the start of the run; "" = unset.
	Shown app.DeliveryStatus `json:"shown,omitempty"`
}

// deliveryVersion is the version of the commands that a run of Delivery produces:
//
//   - 0, the previous release: each state is an upsert of ComandaDeliveryState, also if the
//     value stays the same. Retries take the slow lane.
//   - 1: only a new value is upserted. A retry takes the fast lane if the last response was
//     quick. A signal that belongs to the start of the run is dropped at the start.
//
// A run keeps the version with which it started; continuing as new upgrades it. The version
// is part of the input because workflow.GetVersion would add two events to each run that
// leaves the straight path (a marker and an upsert), about as many as version 1 saves.
//
// Workers of the previous release ignore the field. After one of them has handled a retry of
// a run of version 1, its history may be impossible to replay. The reconciler starts such a
// delivery again (see [StandingStuck]).
const deliveryVersion = 1

// Policy holds the settings that can differ between releases and installations.
type Policy struct {
	Schedule     app.RetrySchedule `json:"schedule"`
	Retention    time.Duration     `json:"retention"`    // how long a dead letter waits for a replay
	AttemptLimit time.Duration     `json:"attemptLimit"` // for one attempt with its record
}

// DeliveryState is the response to the query "state".
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

// Delivery brings one event to one subscription. It makes attempts according to the schedule,
// then waits for a replay if it is a dead letter. The straight path is one local activity.
//
// A replay can be signalled while the delivery ends. Delivery therefore reads its signals
// immediately before it returns. A signal that arrives later makes the server reject the
// return and run the last workflow task again.
func Delivery(ctx workflow.Context, in DeliveryInput) (DeliveryState, error) {
	d := newDelivery(in)
	err := workflow.SetQueryHandler(ctx, QueryState, func() (DeliveryState, error) { return d.state, nil })
	if err != nil {
		return d.state, err
	}
	if in.Version >= 1 {
		d.replaySignalled(ctx) // the run begins with this attempt in any case
	}
	err = d.awaitFirst(ctx)
	for err == nil {
		if err = d.runSchedule(ctx); err != nil {
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
	place int  // attempts of the current schedule that are made
	fast  bool // the next attempt may take the fast lane
	// shown is the value of ComandaDeliveryState: "" while the delivery is on the straight path.
	shown app.DeliveryStatus
	// replays are the attempts named by signals that were read too early.
	replays []int
}

func newDelivery(in DeliveryInput) *delivery {
	d := &delivery{in: in, fast: in.Quick, shown: in.Shown}
	// A schedule that has become shorter still has a last attempt.
	d.place = min(in.Place, len(in.Policy.Schedule))
	d.state = DeliveryState{
		State: stateAttempting, Attempts: in.Attempts, NextRetry: in.NextAttempt, Schedule: in.Policy.Schedule,
	}
	if d.place > 0 {
		d.state.State = string(app.DeliveryRetrying)
	}
	return d
}

// awaitFirst waits until the first attempt of the run is due. A start delay does not replace
// this timer: the server can dispatch the first workflow task early, for example for an update.
func (d *delivery) awaitFirst(ctx workflow.Context) error {
	if d.in.NextAttempt == nil {
		return nil
	}
	delay := d.in.NextAttempt.Sub(workflow.Now(ctx))
	if delay <= 0 {
		return nil
	}
	workflow.SetCurrentDetails(ctx, d.nextName()+" at "+clock(*d.in.NextAttempt))
	return d.sleep(ctx, delay, d.nextName())
}

// runSchedule makes attempts until one is delivered or the schedule is used up. Its error is
// a cancellation or a continuation as new.
func (d *delivery) runSchedule(ctx workflow.Context) error {
	for {
		name := d.nextName()
		result, err := d.nextAttempt(ctx)
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
		d.place++
		d.state.Attempts++
		d.fast = d.in.Version >= 1 && result.Quick
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
		if err := d.sleep(ctx, delay, d.nextName()); err != nil {
			return err
		}
	}
}

// nextName names the next attempt by its place in the schedule.
func (d *delivery) nextName() string {
	return fmt.Sprintf("attempt %d of %d", d.place+1, d.in.Policy.Schedule.Attempts())
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }

// enter shows a state to operators. A delivery whose first attempt succeeds stays on the
// straight path, without an upsert.
func (d *delivery) enter(ctx workflow.Context, state app.DeliveryStatus, details string) error {
	d.state.State = string(state)
	workflow.SetCurrentDetails(ctx, details)
	if state == app.DeliveryDelivered && d.shown == "" {
		return nil
	}
	if d.in.Version >= 1 && state == d.shown {
		return nil
	}
	d.shown = state
	return workflow.UpsertTypedSearchAttributes(ctx, attributeState.ValueSet(string(state)))
}

func (d *delivery) sleep(ctx workflow.Context, delay time.Duration, summary string) error {
	return workflow.NewTimerWithOptions(ctx, delay, workflow.TimerOptions{Summary: summary}).Get(ctx, nil)
}

// continueAsNew returns the error that continues the delivery in a new run, at the same
// place of the schedule. The search attributes are carried over by the SDK.
func (d *delivery) continueAsNew(ctx workflow.Context) error {
	in := d.in
	in.Version, in.Attempts, in.Quick = deliveryVersion, d.state.Attempts, d.fast
	in.Place, in.NextAttempt, in.Shown = d.place, nil, d.shown
	return workflow.NewContinueAsNewError(ctx, Delivery, in)
}

// cancelled records that the workflow was cancelled and returns the error that ends the run:
// the cancellation, or a new run if the delivery has been replayed in the meantime. The
// context of a cancelled run is dead, so a replay cannot begin in the same run. Errors that
// are no cancellations are returned unchanged.
func (d *delivery) cancelled(ctx workflow.Context, cause error) error {
	if !temporal.IsCanceledError(cause) {
		return cause
	}
	detached, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	options := jobOptions(d.in.Policy.AttemptLimit)
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
