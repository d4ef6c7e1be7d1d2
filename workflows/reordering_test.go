package workflows

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

// reorderingRun returns an environment with a job whose batches return these results in turn, and their inputs.
func reorderingRun(t *testing.T, results ...app.Reordering) (
	env *testsuite.TestWorkflowEnvironment, got *[]app.Reordering,
) {
	t.Helper()
	env, got = environment(), new([]app.Reordering)
	env.RegisterWorkflowWithOptions(Reordering, workflow.RegisterOptions{Name: string(app.JobReordering)})
	env.RegisterActivityWithOptions(func(_ context.Context, in activities.ReorderingInput) (app.Reordering, error) {
		if in.StoreID != "sto_1" || in.SubscriptionID != "whk_1" {
			t.Errorf("input of a batch: %+v, want sto_1 and whk_1", in)
		}
		*got = append(*got, in.From)
		return results[len(*got)-1], nil
	}, activity.RegisterOptions{Name: activityReorder})
	return env, got
}

// A job continues with the end of the previous batch until the change is done.
func TestReorderingContinues(t *testing.T) {
	t.Parallel()
	first := app.Reordering{Ordering: app.OrderingResource, Position: 7, Changed: 1000}
	second := app.Reordering{Ordering: app.OrderingNone, Stage: 1, Last: "ord_1"}
	env, got := reorderingRun(t, first, second, app.Reordering{Done: true})
	env.ExecuteWorkflow(string(app.JobReordering), JobInput{StoreID: "sto_1", Subject: "whk_1"})
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]app.Reordering{{}, first, second}, *got); diff != "" {
		t.Errorf("starts of the batches (-want +got):\n%s", diff)
	}
}

// A change that is enqueued while the job ends makes it begin again.
func TestReorderingBeginsAgain(t *testing.T) {
	t.Parallel()
	done := app.Reordering{Done: true}
	env, got := reorderingRun(t)
	env.OnActivity(activityReorder, mock.Anything, mock.Anything).Return(
		func(context.Context, activities.ReorderingInput) (app.Reordering, error) {
			if *got = append(*got, done); len(*got) == 1 {
				env.SignalWorkflow(signalWatch, nil)
			}
			return done, nil
		})
	env.ExecuteWorkflow(string(app.JobReordering), JobInput{StoreID: "sto_1", Subject: "whk_1"})
	if err := env.GetWorkflowError(); err != nil || len(*got) != 2 {
		t.Errorf("%d batches with error %v, want 2", len(*got), err)
	}
}
