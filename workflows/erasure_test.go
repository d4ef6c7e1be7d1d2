package workflows

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
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
		"nothing waits":    {[]app.ErasureStep{{Erased: 3}, {}}, []time.Duration{0, time.Minute}},
		"a delivery waits": {[]app.ErasureStep{{Waiting: 1}, {Waiting: 1}, {Erased: 1}, {}}, []time.Duration{0, 1, 3, 6}},
	} {
		t.Run(name, func(t *testing.T) {
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestWorkflowEnvironment()
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
