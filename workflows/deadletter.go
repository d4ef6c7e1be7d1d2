package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"
)

// ReplaySignal requests a replay. A relay's signal names the attempt with which the replay
// begins, so that it is neither missed if it is early nor obeyed twice. Other signals are obeyed
// only by a dead letter that waits. The signal of an operator is empty.
type ReplaySignal struct {
	Attempt int `json:"attempt"`
	// Overdue makes it a signal of the reconciler: the time at which the delivery was read as
	// pending or retrying, although its workflow waits as a dead letter.
	Overdue *time.Time `json:"overdue,omitempty"`
}

// deadBefore is how long before the time in a reconciler's signal a dead letter must have begun
// to wait. Otherwise the delivery may have ended after the reconciler had read it, and only a
// replay may begin it again. The minute allows for clocks that differ.
const deadBefore = time.Minute

// obeys reports whether a dead letter that waits since a time obeys a signal.
func (d *delivery) obeys(signal ReplaySignal, since time.Time) bool {
	if signal.Overdue != nil {
		return signal.Overdue.Sub(since) > deadBefore
	}
	return signal.Attempt == 0 || signal.Attempt == d.state.Attempts+1
}

// replaySignalled reads the signals that have arrived and reports whether one of them names
// the next attempt. It keeps signals that name a later attempt and drops the others.
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

// awaitReplay waits for a replay until the dead letter expires, and reports whether a replay
// was requested.
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
			replay = d.obeys(signal, since)
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
