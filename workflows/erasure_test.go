package workflows

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

// An erasure waits until all deliveries have ended, and makes at least two passes.
func TestErasure(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps []app.ErasureStep
		want  []time.Duration // of the passes
	}{
		"nothing waits": {[]app.ErasureStep{{Erased: 3}, {}}, []time.Duration{0, time.Minute}},
		"a delivery waits": {
			[]app.ErasureStep{{Waiting: 1}, {Waiting: 1}, {Erased: 1}, {}}, []time.Duration{0, 1, 3, 4},
		},
	} {
		t.Run(name, func(t *testing.T) {
			env := environment()
			env.RegisterWorkflowWithOptions(Erasure, workflow.RegisterOptions{Name: string(app.JobErasure)})
			start, passes := env.Now(), []time.Duration{}
			env.RegisterActivityWithOptions(
				func(_ context.Context, in activities.ErasureInput) (app.ErasureStep, error) {
					if in != (activities.ErasureInput{StoreID: "sto_1", CustomerID: "cus_1"}) {
						t.Errorf("input: got %+v, want cus_1 of sto_1", in)
					}
					passes = append(passes, env.Now().Sub(start).Round(time.Minute))
					return c.steps[len(passes)-1], nil
				}, activity.RegisterOptions{Name: activityEraseEvents})
			env.ExecuteWorkflow(string(app.JobErasure), JobInput{StoreID: "sto_1", Subject: "cus_1"})
			for i, at := range c.want {
				if at < time.Minute {
					c.want[i] = at * time.Minute
				}
			}
			if diff := cmp.Diff(c.want, passes); diff != "" || env.GetWorkflowError() != nil {
				t.Errorf("got error %v, passes (-want +got): %s", env.GetWorkflowError(), diff)
			}
		})
	}
}

// An erasure that waits for a delivery for weeks makes few passes: the pauses grow to a day. A pass follows the limit
// after which queued deliveries are cancelled.
func TestErasureOfAnEventThatWaits(t *testing.T) {
	t.Parallel()
	env := environment()
	env.RegisterWorkflowWithOptions(Erasure, workflow.RegisterOptions{Name: string(app.JobErasure)})
	var passes []time.Duration
	start := env.Now()
	env.RegisterActivityWithOptions(func(context.Context, activities.ErasureInput) (app.ErasureStep, error) {
		at := env.Now().Sub(start)
		cancelled := len(passes) > 0 && passes[len(passes)-1] >= app.ErasureLimit
		passes = append(passes, at)
		switch {
		case at < app.ErasureLimit:
			return app.ErasureStep{Waiting: 1}, nil
		case cancelled:
			return app.ErasureStep{}, nil
		}
		return app.ErasureStep{Erased: 1}, nil
	}, activity.RegisterOptions{Name: activityEraseEvents})
	env.ExecuteWorkflow(string(app.JobErasure), JobInput{StoreID: "sto_1", Subject: "cus_1"})
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	last := passes[len(passes)-1] - app.ErasureLimit
	if len(passes) > 45 || last > 2*erasurePause+time.Second {
		t.Errorf("%d passes, the last one %s after the limit, want at most 45 and two minutes", len(passes), last)
	}
	for i, at := range passes[1:] {
		if pause := at - passes[i]; pause > erasureMaxPause || passes[i] > 0 && pause > passes[i]+2*erasurePause {
			t.Errorf("pause after %s: got %s, want at most as long, and at most a day", passes[i], pause)
		}
	}
}
