package workflows

import (
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

// A deactivation processes all batches, repeats the pass for deliveries that were being dispatched, and ends after a
// pass without queued deliveries.
func TestDeactivation(t *testing.T) {
	t.Parallel()
	env := environment()
	env.SetStartTime(start)
	env.RegisterWorkflowWithOptions(Deactivation, workflow.RegisterOptions{Name: string(app.JobDeactivation)})
	results := []activities.DeactivationResult{{Ended: 1000, More: true}, {Ended: 7}, {Ended: 1}, {}}
	n, failures := 0, 1
	env.RegisterActivityWithOptions(func(in activities.DeactivationInput) (activities.DeactivationResult, error) {
		if in.StoreID != "sto_1" || in.SubscriptionID != "whk_1" {
			t.Errorf("input: got %+v, want sto_1 and whk_1", in)
		}
		if n == 1 && failures > 0 {
			failures--
			return activities.DeactivationResult{}, errors.New("the database is down")
		}
		n++
		return results[n-1], nil
	}, activity.RegisterOptions{Name: activityEndBatch})
	env.ExecuteWorkflow(string(app.JobDeactivation), JobInput{StoreID: "sto_1", Subject: "whk_1"})
	if err := env.GetWorkflowError(); !env.IsWorkflowCompleted() || err != nil {
		t.Fatalf("completed %v with error %v, want completed without error", env.IsWorkflowCompleted(), err)
	}
	if took := env.Now().Sub(start); n != len(results) || took != 2*deactivationPause+time.Second {
		t.Errorf("%d batches in %s, want %d in %s", n, took, len(results), 2*deactivationPause+time.Second)
	}
}

// A webhook that is deactivated again during the last pass gets as many passes as after the first deactivation.
func TestDeactivationBeginsAgain(t *testing.T) {
	t.Parallel()
	env := environment()
	env.SetStartTime(start)
	env.RegisterWorkflowWithOptions(Deactivation, workflow.RegisterOptions{Name: string(app.JobDeactivation)})
	passes, ended := 0, []int{3, 0, 5, 0}
	env.RegisterActivityWithOptions(func(activities.DeactivationInput) (activities.DeactivationResult, error) {
		if passes++; passes == 2 {
			env.SignalWorkflow(signalWatch, nil)
		}
		return activities.DeactivationResult{Ended: ended[passes-1]}, nil
	}, activity.RegisterOptions{Name: activityEndBatch})
	env.ExecuteWorkflow(string(app.JobDeactivation), JobInput{StoreID: "sto_1", Subject: "whk_1"})
	if err := env.GetWorkflowError(); !env.IsWorkflowCompleted() || err != nil || passes != len(ended) {
		t.Errorf("%d passes with error %v, want %d", passes, err, len(ended))
	}
}

// Signals without end do not make the history longer without end: the next run begins with the first pass anyway.
func TestDeactivationContinuesAsNew(t *testing.T) {
	t.Parallel()
	env := environment()
	env.RegisterWorkflowWithOptions(Deactivation, workflow.RegisterOptions{Name: string(app.JobDeactivation)})
	passes := 0
	env.RegisterActivityWithOptions(func(activities.DeactivationInput) (activities.DeactivationResult, error) {
		if passes++; passes <= 100 {
			env.SignalWorkflow(signalWatch, nil)
		}
		return activities.DeactivationResult{}, nil
	}, activity.RegisterOptions{Name: activityEndBatch})
	env.SetContinueAsNewSuggested(true)
	env.ExecuteWorkflow(string(app.JobDeactivation), JobInput{StoreID: "sto_1", Subject: "whk_1"})
	if _, ok := errors.AsType[*workflow.ContinueAsNewError](env.GetWorkflowError()); !ok || passes != 1 {
		t.Errorf("%d passes with error %v, want a new run after one", passes, env.GetWorkflowError())
	}
}
