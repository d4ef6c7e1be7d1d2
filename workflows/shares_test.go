package workflows

import (
	"context"
	"slices"
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
	now := time.Now()
	enter := func(in JobInput) bool {
		free, _ := s.enter(in.priority().FairnessKey, now, time.Second)
		return free
	}
	in := JobInput{Queue: "web_1"}
	for range jobShare {
		if !enter(in) {
			t.Fatal("no place of a free share")
		}
	}
	if enter(in) {
		t.Error("got a place of an occupied share")
	}
	if !enter(JobInput{Queue: "web_1", Urgent: true}) || !enter(JobInput{Queue: "web_2"}) {
		t.Error("no place of another share")
	}
	if s.leave(in.priority().FairnessKey, now); !enter(in) {
		t.Error("no place after a step has ended")
	}
}

// Steps of a website that wait for its share return at a rate that does not grow with their number. A single one
// returns soon, also beside a website whose steps return late.
func TestReturnsToAnOccupiedShare(t *testing.T) {
	t.Parallel()
	for _, steps := range []int{1, 10, 100, 10_000} {
		s, start := newShares(), time.Now()
		for _, key := range []string{"web_1", "web_2"} {
			if free, _ := s.enter(key, start, 0); !free {
				t.Fatal("no place of a free share")
			}
		}
		var returns [700]int // by second
		waits := slices.Repeat([]time.Duration{0}, steps)
		for second := range returns {
			for i := range waits {
				for at := &waits[i]; *at/time.Second == time.Duration(second); {
					if *at > 0 {
						returns[second]++
					}
					_, pause := s.enter("web_1", start.Add(*at), jobShareMaxWait)
					*at += pause
				}
			}
		}
		total := 0
		for _, n := range returns[100:] {
			total += n
		}
		if most := 600 * int(time.Second/jobShareEvery); total > most || total < min(most, 600*steps/15)*8/10 {
			t.Errorf("returns of %d steps in 600 s: got %d, want at most %d", steps, total, most)
		}
		if _, pause := s.enter("web_2", start, jobShareWait); pause != jobShareWait {
			t.Errorf("pause of a step beside %d of another website: got %s, want %s", steps, pause, jobShareWait)
		}
	}
}

// Short steps of a website that find its share occupied return as fast as they are executed.
func TestShortStepsOfAWebsite(t *testing.T) {
	t.Parallel()
	const steps, took = 600, 5 * time.Millisecond
	s, start := newShares(), time.Now()
	s.enter("web_1", start, 0)
	ends := start.Add(took) // of the running step
	waiting := make([]time.Time, steps)
	for i := range waiting {
		waiting[i] = start.Add(time.Duration(i) * 2 * time.Millisecond)
	}
	for len(waiting) > 0 {
		slices.SortFunc(waiting, time.Time.Compare)
		now := waiting[0]
		if !ends.IsZero() && !ends.After(now) {
			s.leave("web_1", ends)
			ends = time.Time{}
		}
		free, pause := s.enter("web_1", now, jobShareWait)
		if !free {
			waiting[0] = now.Add(pause)
			continue
		}
		ends, waiting = now.Add(took), waiting[1:]
		if now.Sub(start) > time.Minute {
			t.Fatalf("a step begins after %s, want at most a minute; %d others wait", now.Sub(start), len(waiting))
		}
	}
}

// A share is forgotten when no step runs and none waits, also if the last step has returned to another worker.
func TestSharesAreForgotten(t *testing.T) {
	t.Parallel()
	s, now := newShares(), time.Now()
	var pause time.Duration
	for _, key := range []string{"web_1", "web_2"} {
		s.enter(key, now, 0)
		_, pause = s.enter(key, now, 0)
		s.leave(key, now)
	}
	if free, _ := s.enter("web_1", now.Add(pause), 0); !free {
		t.Error("no place after a step has ended")
	}
	if s.leave("web_1", now.Add(pause)); len(s.of) != 0 {
		t.Errorf("shares without a step: got %d, want 0", len(s.of))
	}
}
