package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
)

// ReplaySignal requests a replay. A relay's signal contains the number of the attempt with which the replay begins, so
// that an early signal is not missed and no signal has an effect twice. An operator's signal is empty. It has an effect
// only while the workflow waits as a dead letter, and requests the turn of the delivery first: if another delivery of
// the resource has it, the replay is queued, and a relay's signal follows when its turn comes.
type ReplaySignal struct {
	Attempt int `json:"attempt"`
	// Overdue is set by the reconciler only. It is the time at which the delivery was read as pending or retrying
	// although its workflow waits as a dead letter.
	Overdue *time.Time `json:"overdue,omitempty"`
}

// deadBefore is the minimum time for which a dead letter must have waited before it was read by the reconciler. If it
// is shorter, the delivery may have ended after the read, and only a replay may restart it. A minute allows for clock
// skew.
const deadBefore = time.Minute

// byOperator reports whether an operator has sent a signal.
func (s ReplaySignal) byOperator() bool { return s.Overdue == nil && s.Attempt == 0 }

// accepts reports whether a relay's or the reconciler's signal replays a dead letter that has waited since the given
// time. A relay's signal names a later attempt than the next one if another run's attempts were recorded late.
func (d *delivery) accepts(signal ReplaySignal, since time.Time) bool {
	if signal.Overdue != nil {
		return signal.Overdue.Sub(since) > deadBefore
	}
	return signal.Attempt > d.state.Attempts
}

// beginReplay requests the turn of an operator's replay and reports whether the replay may begin. Otherwise it is
// queued.
func (d *delivery) beginReplay(ctx workflow.Context) (bool, error) {
	options := jobOptions(temporal.Priority{FairnessKey: d.in.Queue}, d.in.Policy.AttemptLimit)
	options.Summary = "ask for the turn of the replay"
	asking := workflow.WithActivityOptions(ctx, options)
	in := activities.BeginReplayInput{DeliveryID: d.in.DeliveryID}
	var began activities.BeginReplayResult
	err := workflow.ExecuteActivity(asking, activityBeginReplay, in).Get(asking, &began)
	if err == nil && !began.Began {
		// The state stays: no signal reports that the queued replay has ended, for example because the webhook became
		// inactive.
		d.state.Waits = "a replay was queued at " + date(workflow.Now(ctx)) + ": " + waitsForTurn
		workflow.SetCurrentDetails(ctx, "dead letter; "+d.state.Waits)
	}
	return began.Began, err
}

// replaySignalled reads the pending signals and reports whether one of them names the next attempt. It keeps signals
// for later attempts and drops the others.
func (d *delivery) replaySignalled(ctx workflow.Context) bool {
	signals := workflow.GetSignalChannel(ctx, SignalReplay)
	for signal := (ReplaySignal{}); signals.ReceiveAsync(&signal); signal = (ReplaySignal{}) {
		d.replays = append(d.replays, signal.Attempt)
	}
	next := d.state.Attempts + 1
	found := slices.Contains(d.replays, next)
	d.replays = slices.DeleteFunc(d.replays, func(attempt int) bool { return attempt <= next })
	return found
}

// awaitReplay waits for a replay signal until the dead letter expires, and reports whether there was one. A signal for
// a later attempt than the next one may have arrived before the delivery ended.
func (d *delivery) awaitReplay(ctx workflow.Context) (bool, error) {
	if len(d.replays) > 0 {
		d.state.Attempts, d.replays = slices.Max(d.replays)-1, nil
		return true, nil
	}
	since := workflow.Now(ctx)
	expires := since.Add(d.in.Policy.Retention)
	d.state.Expires = &expires
	waiting, stop := workflow.WithCancel(ctx)
	defer stop()
	expired := workflow.NewTimerWithOptions(waiting, d.in.Policy.Retention, workflow.TimerOptions{
		Summary: "the dead letter expires",
	})
	signals := workflow.GetSignalChannel(ctx, SignalReplay)
	for {
		var replay, asked, timeout bool
		selector := workflow.NewSelector(ctx)
		selector.AddReceive(signals, func(c workflow.ReceiveChannel, _ bool) {
			var signal ReplaySignal
			c.Receive(ctx, &signal)
			asked = signal.byOperator()
			if replay = d.accepts(signal, since); replay {
				d.state.Attempts = max(d.state.Attempts, signal.Attempt-1)
			}
		})
		selector.AddFuture(expired, func(workflow.Future) { timeout = true })
		selector.Select(ctx)
		if asked {
			var err error
			if replay, err = d.beginReplay(ctx); err != nil {
				return false, err
			}
		}
		switch {
		case replay:
			return true, nil
		case ctx.Err() != nil:
			return false, ctx.Err()
		case timeout:
			d.state.Waits = ""
			workflow.SetCurrentDetails(ctx, "dead letter, expired")
			return d.replaySignalled(ctx), nil
		}
	}
}
