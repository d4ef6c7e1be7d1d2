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

// replayRun returns an environment with a bulk replay whose steps are made by step.
func replayRun(
	t *testing.T, step func(n int) app.ReplayStep,
) (env *testsuite.TestWorkflowEnvironment, at *[]time.Duration, cancelled *int) {
	env, at, cancelled = environment(), new([]time.Duration), new(int)
	env.SetStartTime(start)
	env.RegisterWorkflowWithOptions(Replay, workflow.RegisterOptions{Name: string(app.JobReplay)})
	want := activities.ReplayInput{StoreID: "sto_1", ReplayID: "rpl_1"}
	env.RegisterActivityWithOptions(func(_ context.Context, in activities.ReplayInput) (app.ReplayStep, error) {
		if in != want {
			t.Errorf("input of a step: %+v, want %+v", in, want)
		}
		*at = append(*at, env.Now().Sub(start))
		return step(len(*at)), nil
	}, activity.RegisterOptions{Name: activityContinueReplay})
	env.RegisterActivityWithOptions(func(_ context.Context, in activities.ReplayInput) error {
		if in != want {
			t.Errorf("input of the cancellation: %+v, want %+v", in, want)
		}
		*cancelled++
		return nil
	}, activity.RegisterOptions{Name: activityCancelReplay})
	return env, at, cancelled
}

var replayJob = JobInput{StoreID: "sto_1", Subject: "rpl_1"}

// While there is room, a bulk replay takes a step every second. Otherwise, the pause doubles up to a minute.
func TestReplayPauses(t *testing.T) {
	t.Parallel()
	env, at, _ := replayRun(t, func(n int) app.ReplayStep {
		switch {
		case n <= 2 || n == 11:
			return app.ReplayStep{Status: app.ReplayRunning, Moved: true, Replayed: int64(n)}
		case n == 12:
			return app.ReplayStep{Status: app.ReplayCompleted, Moved: true, Replayed: 3}
		}
		return app.ReplayStep{Status: app.ReplayRunning}
	})
	env.ExecuteWorkflow(string(app.JobReplay), replayJob)
	var got app.ReplayStep
	if err := env.GetWorkflowResult(&got); err != nil || got.Replayed != 3 {
		t.Errorf("result %+v, %v, want 3 replayed", got, err)
	}
	want := []time.Duration{0, 1, 2, 4, 8, 16, 32, 64, 124, 184, 244, 245}
	for i := range want {
		want[i] *= time.Second
	}
	if diff := cmp.Diff(want, *at); diff != "" {
		t.Errorf("times of the steps (-want +got):\n%s", diff)
	}
}

// If an operator cancels the workflow, the bulk replay is cancelled.
func TestReplayCancelled(t *testing.T) {
	t.Parallel()
	env, _, cancelled := replayRun(t, func(int) app.ReplayStep { return app.ReplayStep{Status: app.ReplayRunning} })
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Hour)
	env.ExecuteWorkflow(string(app.JobReplay), replayJob)
	if err := env.GetWorkflowError(); !temporal.IsCanceledError(err) || *cancelled != 1 {
		t.Errorf("ended with %v, cancellation recorded %d times, want a cancellation recorded once", err, *cancelled)
	}
}
