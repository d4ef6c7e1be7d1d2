package workflows

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"
)

// The long steps of one website occupy only its share of the slots, and all of them are executed.
func TestLongStepsOfAWebsiteAreLimited(t *testing.T) {
	t.Parallel()
	env := environment()
	var running, most, done atomic.Int32
	full := make(chan struct{})
	env.RegisterActivityWithOptions(limitShare(newShares(), func(context.Context, string) (int, error) {
		n := running.Add(1)
		defer running.Add(-1)
		if most.Store(max(most.Load(), n)); n == jobShare && done.Load() == 0 {
			close(full)
		}
		<-full
		done.Add(1)
		return 0, nil
	}), activity.RegisterOptions{Name: "step"})
	const steps = 5 * jobShare
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		ctx = withJobOptions(ctx, JobInput{Queue: "web_1"}, time.Hour)
		var futures []workflow.Future
		for range steps {
			futures = append(futures, workflow.ExecuteActivity(ctx, "step", ""))
		}
		for _, f := range futures {
			if err := f.Get(ctx, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if done.Load() != steps || most.Load() != jobShare {
		t.Errorf("steps of the website: got %d, at most %d at a time, want %d and %d", done.Load(), most.Load(), steps,
			jobShare)
	}
}

// Websites, and the urgent steps of a website, have separate shares.
func TestSharesAreSeparate(t *testing.T) {
	t.Parallel()
	s := newShares()
	in := JobInput{Queue: "web_1"}
	for range jobShare {
		if !s.enter(in.priority().FairnessKey) {
			t.Fatal("no place of a free share")
		}
	}
	if s.enter(in.priority().FairnessKey) {
		t.Error("got a place of an occupied share")
	}
	urgent, other := JobInput{Queue: "web_1", Urgent: true}, JobInput{Queue: "web_2"}
	if !s.enter(urgent.priority().FairnessKey) || !s.enter(other.priority().FairnessKey) {
		t.Error("no place of another share")
	}
	if s.leave(in.priority().FairnessKey); !s.enter(in.priority().FairnessKey) {
		t.Error("no place after a step has ended")
	}
}
