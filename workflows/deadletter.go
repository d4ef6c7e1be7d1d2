package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"
)

// ReplaySignal requests a replay. A relay's signal contains the number of the attempt with which the replay begins, so
// that an early signal is not missed and no signal has an effect twice. An operator's signal is empty. It has an effect
// only while the workflow waits as a dead letter.
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

// accepts reports whether a signal replays a dead letter that has waited since the given time.
func (d *delivery) accepts(signal ReplaySignal, since time.Time) bool {
	if signal.Overdue != nil {
		return signal.Overdue.Sub(since) > deadBefore
	}
	return signal.Attempt == 0 || signal.Attempt == d.state.Attempts+1
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

// awaitReplay waits for a replay signal until the dead letter expires, and reports whether there was one.
func (d *delivery) awaitReplay(ctx workflow.Context) (bool, error) {
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
		var replay, timeout bool
		selector := workflow.NewSelector(ctx)
		selector.AddReceive(signals, func(c workflow.ReceiveChannel, _ bool) {
			var signal ReplaySignal
			c.Receive(ctx, &signal)
			replay = d.accepts(signal, since)
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
			return d.replaySignalled(ctx), nil
		}
	}
}
