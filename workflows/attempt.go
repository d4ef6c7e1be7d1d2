package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

// minBusyWait is the minimum pause before an attempt of a busy subscription is requested again. Each request adds
// eleven events to the history, so the pause must not be zero.
const minBusyWait = time.Second

// Pauses between the requests of an attempt whose delivery is queued again, until its turn. A signal ends the pause
// when the turn comes; the requests find a turn whose signal was lost. The pause doubles: a thousand deliveries that
// wait for hours cause about three requests per second.
const (
	minTurnWait = 5 * time.Second
	maxTurnWait = 5 * time.Minute
)

// Reasons for which a workflow waits, for operators.
const (
	waitsForRoom = "the webhook or its website has too many attempts in progress"
	waitsForTurn = "the delivery is queued until its turn"
)

// nextAttempt makes the next attempt of the schedule. If the subscription is busy (it has too many attempts in
// progress), the attempt is not used up: after a request in the fast lane, the slow lane is tried, and after a request
// in the slow lane, the slow lane is tried again after a pause. If the delivery is queued until its turn, the attempt
// is not used up either.
func (d *delivery) nextAttempt(ctx workflow.Context) (activities.DeliverResult, error) {
	for turnWait := minTurnWait; ; {
		d.state.State, d.state.Waits, d.state.NextRetry, d.state.Expires = stateAttempting, "", nil, nil
		if d.shown != "" {
			workflow.SetCurrentDetails(ctx, d.nextName()+" is in progress")
		}
		result, err := d.attempt(ctx)
		switch {
		case err == nil && result.Outcome == activities.OutcomeQueued:
			if err := d.awaitTurn(ctx, turnWait); err != nil {
				return result, err
			}
			turnWait = min(2*turnWait, maxTurnWait)
		case err != nil || result.Outcome != activities.OutcomeBusy:
			return result, err
		case d.fast:
			d.fast = false
		default:
			if err := d.awaitFreeLane(ctx, result.Wait); err != nil {
				return result, err
			}
		}
	}
}

// awaitFreeLane pauses before the next request of an attempt whose subscription is busy. A hanging receiver can keep
// its deliveries waiting for hours, so a long history is continued as new.
func (d *delivery) awaitFreeLane(ctx workflow.Context, wait time.Duration) error {
	wait = max(wait, minBusyWait)
	again := workflow.Now(ctx).Add(wait)
	d.state.Waits, d.state.NextRetry = waitsForRoom, &again
	workflow.SetCurrentDetails(ctx, d.nextName()+" waits: "+waitsForRoom+"; next try at "+clock(again))
	if err := d.sleep(ctx, wait, d.nextName()+": the webhook is busy"); err != nil {
		return err
	}
	return d.continueIfLong(ctx)
}

// awaitTurn pauses until the relay that has claimed the delivery sends a signal, at most for the given time. The
// delivery waits for hours if a receiver rejects an earlier event of the resource.
func (d *delivery) awaitTurn(ctx workflow.Context, wait time.Duration) error {
	d.state.State, d.state.Waits = string(app.DeliveryQueued), waitsForTurn
	workflow.SetCurrentDetails(ctx, d.nextName()+" waits: "+waitsForTurn)
	timing, stop := workflow.WithCancel(ctx)
	defer stop()
	due := workflow.NewTimerWithOptions(timing, wait, workflow.TimerOptions{Summary: d.nextName() + ": not its turn"})
	turns := workflow.GetSignalChannel(ctx, SignalTurn)
	replay := false
	err := workflow.Await(ctx, func() bool {
		replay = replay || d.replaySignalled(ctx) // begins with the attempt that waits
		return replay || turns.Len() > 0 || due.IsReady()
	})
	if err != nil {
		return err
	}
	for turns.ReceiveAsync(nil) { // signals of earlier claims too
	}
	if replay {
		d.place = 0
	}
	return d.continueIfLong(ctx)
}

// continueIfLong continues a run with a long history as new.
func (d *delivery) continueIfLong(ctx workflow.Context) error {
	if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
		return d.continueAsNew(ctx)
	}
	return nil
}

// attempt runs the activity Deliver: in the fast lane as a local activity, in the slow lane as a regular activity on
// the task queue of that lane. A cancelled workflow starts no attempt and does not interrupt a running one.
func (d *delivery) attempt(ctx workflow.Context) (result activities.DeliverResult, err error) {
	if err := ctx.Err(); err != nil {
		return result, err
	}
	detached, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	delay, _ := d.in.Policy.Schedule.Delay(d.place + 1)
	in := activities.DeliverInput{
		DeliveryID: d.in.DeliveryID, Attempt: d.state.Attempts + 1, RetryIn: delay, Lane: activities.LaneSlow,
		Queue: d.in.Queue,
	}
	retry := &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute}
	if d.fast {
		in.Lane = activities.LaneFast
		detached = workflow.WithLocalActivityOptions(detached, d.fastLane(retry))
		err = workflow.ExecuteLocalActivity(detached, activityDeliver, in).Get(detached, &result)
		return result, err
	}
	detached = workflow.WithActivityOptions(detached, d.slowLane(retry))
	err = workflow.ExecuteActivity(detached, activityDeliver, in).Get(detached, &result)
	return result, err
}

func (d *delivery) fastLane(retry *temporal.RetryPolicy) workflow.LocalActivityOptions {
	return workflow.LocalActivityOptions{
		StartToCloseTimeout: d.in.Policy.AttemptLimit,
		// ScheduleToCloseTimeout covers all retries of the activity together and defaults to one
		// StartToCloseTimeout. An outage of the database must not end the delivery.
		ScheduleToCloseTimeout: 365 * 24 * time.Hour,
		RetryPolicy:            retry, Summary: d.nextName(),
	}
}

// slowLane returns the options of an attempt in the slow lane. The fairness key (at most 64 bytes) lets a server that
// supports fairness alternate between websites. Other servers ignore it.
func (d *delivery) slowLane(retry *temporal.RetryPolicy) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue: SlowTaskQueue, StartToCloseTimeout: d.in.Policy.AttemptLimit, RetryPolicy: retry,
		Summary: d.nextName(), Priority: temporal.Priority{FairnessKey: d.in.Queue},
	}
}
