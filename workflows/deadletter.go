package workflows

import (
	"slices"

	"go.temporal.io/sdk/workflow"
)

// ReplaySignal requests a replay. A relay's signal names the attempt with which the replay
// begins, so that it is neither missed if it is early nor obeyed twice. The signal of an
// operator or of the reconciler is empty; only a dead letter that waits obeys it.
type ReplaySignal struct {
	Attempt int `json:"attempt"`
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
	expires := workflow.Now(ctx).Add(d.in.Policy.Retention)
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
			replay = signal.Attempt == 0 || signal.Attempt == d.state.Attempts+1
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
