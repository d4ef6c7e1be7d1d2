package workflows

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

// runSoldOut runs the workflow of a product that is sold out until a time, which changes can move. It returns the times
// of its activity since the start.
func runSoldOut(
	t *testing.T, until time.Duration, prepare func(env *testsuite.TestWorkflowEnvironment, until *time.Duration),
) (calls []time.Duration, err error) {
	t.Helper()
	env := environment()
	env.SetStartTime(start)
	env.RegisterWorkflowWithOptions(SoldOut, workflow.RegisterOptions{Name: string(app.JobSoldOut)})
	env.RegisterActivityWithOptions(func(
		ctx context.Context, in activities.SoldOutInput,
	) (activities.SoldOutResult, error) {
		if queue := activity.GetInfo(ctx).TaskQueue; queue != DeadlineTaskQueue ||
			in != (activities.SoldOutInput{StoreID: "sto_1", ProductID: "prd_1"}) {
			t.Errorf("activity: got %+v on %s, want prd_1 of sto_1 on %s", in, queue, DeadlineTaskQueue)
		}
		at := env.Now().Sub(start)
		calls = append(calls, at)
		return activities.SoldOutResult{NextIn: max(0, until-at)}, nil
	}, activity.RegisterOptions{Name: activityEndSoldOut})
	prepare(env, &until)
	env.ExecuteWorkflow(string(app.JobSoldOut), JobInput{StoreID: "sto_1", Subject: "prd_1"})
	if !env.IsWorkflowCompleted() {
		t.Fatal("the workflow has not completed")
	}
	return calls, env.GetWorkflowError()
}

func TestSoldOut(t *testing.T) {
	t.Parallel()
	change := func(at, to time.Duration, signals bool) func(*testsuite.TestWorkflowEnvironment, *time.Duration) {
		return func(env *testsuite.TestWorkflowEnvironment, until *time.Duration) {
			env.RegisterDelayedCallback(func() {
				*until = to
				if signals {
					env.SignalWorkflow(signalWatch, nil)
				}
			}, at)
		}
	}
	const h = time.Hour
	for name, c := range map[string]struct {
		prepare func(*testsuite.TestWorkflowEnvironment, *time.Duration)
		want    []time.Duration
	}{
		"waits until the time":  {change(0, 5*h, true), []time.Duration{0, 5 * h}},
		"the time moves closer": {change(h, 2*h, true), []time.Duration{0, h, 2 * h}},
		"the time has passed":   {change(h, h, true), []time.Duration{0, h}},
		"the time moves away":   {change(h, 7*h, true), []time.Duration{0, h, 7 * h}},
		"a signal is lost":      {change(h, 7*h, false), []time.Duration{0, 5 * h, 7 * h}},
		"it was cleared":        {change(h, 0, false), []time.Duration{0, 5 * h}},
	} {
		calls, err := runSoldOut(t, 5*h, c.prepare)
		if diff := cmp.Diff(c.want, calls); diff != "" || err != nil {
			t.Errorf("%s: got error %v, activities (-want +got): %s", name, err, diff)
		}
	}
	_, err := runSoldOut(t, 5*h, func(env *testsuite.TestWorkflowEnvironment, _ *time.Duration) {
		env.RegisterDelayedCallback(env.CancelWorkflow, h)
	})
	if !temporal.IsCanceledError(err) {
		t.Errorf("cancelled: got error %v, want a cancellation", err)
	}
}
