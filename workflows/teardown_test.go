package workflows

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

func runTeardown(
	t *testing.T, batch func(activities.TeardownInput) (activities.TeardownResult, error),
) (took time.Duration, calls []string) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetStartTime(start)
	env.SetTestTimeout(time.Minute)
	env.RegisterWorkflowWithOptions(Teardown, workflow.RegisterOptions{Name: string(app.JobTeardown)})
	env.RegisterActivityWithOptions(func(
		ctx context.Context, in activities.TeardownInput,
	) (activities.TeardownResult, error) {
		info := activity.GetInfo(ctx)
		if info.TaskQueue != JobTaskQueue || info.HeartbeatTimeout != teardownHeartbeat {
			t.Errorf("on the queue %s, with a heartbeat timeout of %s", info.TaskQueue, info.HeartbeatTimeout)
		}
		at := env.Now().Sub(start)
		calls = append(calls, fmt.Sprintf("%s %s after %q at %s", in.StoreID, in.SubscriptionID, in.After, at))
		return batch(in)
	}, activity.RegisterOptions{Name: activityCancelBatch})
	env.ExecuteWorkflow(string(app.JobTeardown), JobInput{StoreID: "sto_1", Subject: "whk_1"})
	if err := env.GetWorkflowError(); !env.IsWorkflowCompleted() || err != nil {
		t.Fatalf("ended: %v, with %v", env.IsWorkflowCompleted(), err)
	}
	return env.Now().Sub(start), calls
}

// A teardown goes through all batches, comes back for what was under way, and ends with a
// pass that finds nothing.
func TestTeardown(t *testing.T) {
	t.Parallel()
	results := []activities.TeardownResult{
		{Cancelled: 1100, Last: "dlv_1", More: true}, {Cancelled: 30, Last: "dlv_2"}, // the first pass
		{Cancelled: 1, Last: "dlv_1"}, // the second
		{},                            // the third
	}
	n, failures := 0, 2
	took, calls := runTeardown(t, func(activities.TeardownInput) (activities.TeardownResult, error) {
		if n == 1 && failures > 0 { // ours: the batch is repeated
			failures--
			return activities.TeardownResult{}, errors.New("Temporal is away")
		}
		n++
		return results[n-1], nil
	})
	want := []string{
		`sto_1 whk_1 after "" at 0s`, `sto_1 whk_1 after "dlv_1" at 0s`,
		`sto_1 whk_1 after "dlv_1" at 1s`, `sto_1 whk_1 after "dlv_1" at 3s`,
		`sto_1 whk_1 after "" at 1m3s`, `sto_1 whk_1 after "" at 3m3s`,
	}
	if diff := cmp.Diff(want, calls); diff != "" || took != 3*time.Minute+3*time.Second {
		t.Error(took, diff)
	}
}

// Nothing to cancel is looked for twice: what was on its way at the deletion shows later.
func TestTeardownOfNothing(t *testing.T) {
	t.Parallel()
	took, calls := runTeardown(t, func(activities.TeardownInput) (activities.TeardownResult, error) {
		return activities.TeardownResult{}, nil
	})
	if took != time.Minute || len(calls) != 2 {
		t.Errorf("%d looks in %s", len(calls), took)
	}
}
