package workflows

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

// Retention repeats erasures at the interval that the worker returns, also after errors. A long history is continued as
// new.
func TestRetention(t *testing.T) {
	t.Parallel()
	env := environment()
	env.SetStartTime(start)
	env.RegisterWorkflowWithOptions(Retention, workflow.RegisterOptions{Name: workflowRetention})
	var at []time.Duration
	env.RegisterActivityWithOptions(func(context.Context) (activities.EraseResult, error) {
		at = append(at, env.Now().Sub(start))
		if len(at) == 2 {
			return activities.EraseResult{}, errors.New("the database is away")
		}
		if len(at) == 4 {
			env.SetContinueAsNewSuggested(true)
		}
		return activities.EraseResult{Erased: app.Erased{Bodies: int64(len(at))}, NextIn: time.Hour}, nil
	}, activity.RegisterOptions{Name: activityErase})
	env.RegisterDelayedCallback(func() {
		value, err := env.QueryWorkflow(QueryState)
		var state activities.EraseResult
		if err != nil || value.Get(&state) != nil || state.Bodies != 1 {
			t.Errorf("state %+v, %v, want 1 body", state, err)
		}
	}, time.Minute)
	env.ExecuteWorkflow(workflowRetention)
	if err := env.GetWorkflowError(); !workflow.IsContinueAsNewError(err) {
		t.Errorf("ended with %v, want continue-as-new", err)
	}
	want := []time.Duration{0, time.Hour, time.Hour + time.Second, 2*time.Hour + time.Second}
	if diff := cmp.Diff(want, at); diff != "" {
		t.Errorf("times of the erasures (-want +got):\n%s", diff)
	}
}
